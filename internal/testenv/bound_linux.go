// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// BoundTo listens at a network interface alone (SO_BINDTODEVICE of socket(7)).
func BoundTo(device string) *net.ListenConfig {
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), device) })
		return errors.Join(failed, err)
	}}
}
