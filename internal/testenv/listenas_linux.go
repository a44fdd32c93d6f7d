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
	AsUser(t, uid, func() (err error) {
		l, err = net.Listen("unix", path)
		return err
	})
	t.Cleanup(func() { l.Close() })
	return l
}

// AsUser does something on a thread that has a user and the group of that number; libraries change the user of all threads.
func AsUser(t testing.TB, uid int, do func() error) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root, to become a user")
	done := make(chan error)
	asUser(uintptr(uid), do, done)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// asUser keeps off the first thread, whose user is shown as that of the process.
func asUser(id uintptr, do func() error, done chan<- error) {
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with its goroutine
		if syscall.Gettid() == os.Getpid() {
			asUser(id, do, done)
			select {}
		}
		for _, call := range []uintptr{syscall.SYS_SETRESGID, syscall.SYS_SETRESUID} {
			if _, _, failed := syscall.RawSyscall(call, id, id, id); failed != 0 {
				done <- failed
				return
			}
		}
		done <- do()
	}()
}
