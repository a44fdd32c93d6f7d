// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// UDPLite returns a socket of UDP-Lite over IPv4, which is closed with the test.
func UDPLite(t testing.TB) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)
	Need(t, !errors.Is(err, unix.EPROTONOSUPPORT), "a kernel with UDP-Lite")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}
