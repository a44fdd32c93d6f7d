// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// ListenAs listens at a path as a user, until the test ends. The kernel tells who connects that it is this
// user (SO_PEERCRED of unix(7)), to whom the directory must be open.
func ListenAs(t testing.TB, uid int, path string) (l net.Listener) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root, to become a user")
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with its goroutine
		const same = ^uintptr(0)
		if _, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uintptr(uid), same); failed != 0 {
			done <- failed
			return
		}
		var err error
		l, err = net.Listen("unix", path)
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
