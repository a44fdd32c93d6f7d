// SPDX-License-Identifier: Apache-2.0

//go:build linux

package testenv

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Within runs f in the network namespace that the file at path names, such as
// /proc/PID/ns/net. The thread it ran on is not used again.
func Within(t testing.TB, path string, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		namespace, err := os.Open(path)
		if err == nil {
			err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
			namespace.Close() //nolint:errcheck // only named
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
