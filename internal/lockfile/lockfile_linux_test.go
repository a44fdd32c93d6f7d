// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// A lock on a file that was removed meanwhile excludes nobody.
func TestTheFileAtThePathCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	first := had(t, Exclude, path)
	second := make(chan func(), 1)
	go func() {
		release, err := Exclude(t.Context(), path, long)
		if err != nil {
			t.Error(err)
			release = func() {}
		}
		second <- release
	}()
	testenv.WaitFor(t, "who waits for the lock", func() bool { return waits(t, path) })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	first()
	release := <-second
	if _, err := Exclude(t.Context(), path, short); !errors.As(err, new(BusyError)) {
		t.Errorf("%v: two are in at once", err)
	}
	release()
	had(t, Exclude, path)()
}

// waits reports whether a process waits for the lock on the file at path (proc_locks(5)).
func waits(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
			return true
		}
	}
	return false
}
