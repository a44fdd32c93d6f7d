// SPDX-License-Identifier: Apache-2.0

//go:build linux

package testenv

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// InNetworkNamespace runs f in the network namespace of the file at path, such as
// /proc/PID/ns/net. The thread is not reused.
func InNetworkNamespace(t testing.TB, path string, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go within(path, f, done)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// within leaves the main thread alone: its namespaces are what /proc shows for the
// process.
func within(path string, f func(), done chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		defer runtime.UnlockOSThread()
		other := make(chan error, 1)
		go within(path, f, other)
		done <- <-other
		return
	}
	namespace, err := os.Open(path)
	if err == nil {
		err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
		namespace.Close() // the thread holds the namespace
	}
	if err == nil {
		f()
	}
	done <- err
}
