// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// The main thread does not end with its goroutine, and would stay in the other namespace, of which /proc/net then tells.
func TestTheMainThreadEntersNoNamespace(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--net") {
		return
	}
	here, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	for range 20_000 {
		main := false
		if err := within(here, func() error { main = unix.Gettid() == unix.Getpid(); return nil }); err != nil || main {
			t.Fatalf("on the main thread: %t, %v", main, err)
		}
	}
}
