// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net"
	"os"
	"syscall"
	"testing"
)

func TestAReceiverWithoutARouteIsToldApart(t *testing.T) {
	for number, want := range map[syscall.Errno]bool{syscall.EHOSTUNREACH: true, syscall.ENETUNREACH: true, syscall.ECONNREFUSED: false, syscall.EPERM: false} {
		err := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", number)}
		if r := (&Client{}).failed(t.Context(), err); r.NoRoute != want || !r.retryable {
			t.Errorf("%v: %+v", number, r)
		}
	}
}
