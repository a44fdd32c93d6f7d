// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sentinel/internal/testenv"
)

func TestProgramOfAProcess(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fs := New("/")
	if path, err := fs.Executable(os.Getpid()); path != self || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	if pid, err := fs.Self(); pid != os.Getpid() || err != nil {
		t.Errorf("%d, %v", pid, err)
	}
	if threads, err := fs.Threads(os.Getpid()); err != nil || !slices.ContainsFunc(threads, func(p ProcessStat) bool { return p.PID == os.Getpid() }) {
		t.Errorf("%+v, %v", threads, err)
	}
}

// A /proc of another PID namespace lists this process under another PID.
func TestSelfIsAsTheMountedProcHasIt(t *testing.T) {
	for link, want := range map[string]int{"4242": 4242, "x": 0, "-1": 0, "4294967296": 0} {
		root := testenv.Plant(t, map[string]string{"proc/": ""})
		if err := os.Symlink(link, filepath.Join(root, "proc", "self")); err != nil {
			t.Fatal(err)
		}
		if got, err := New(root).Self(); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v", link, got, err)
		}
	}
}
