// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"os/exec"
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
	path := filepath.Join(t.TempDir(), "program")
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode  os.FileMode
		owner int
		want  bool
	}{{0o755, 0, true}, {0o775, 0, false}, {0o757, 0, false}, {0o755, testenv.Nobody, false}} {
		if err := os.Chown(path, c.owner, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ExecutableOwnedByRoot(cmd.Process.Pid); got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	os.Remove(path)
	if got, err := fs.Executable(cmd.Process.Pid); got != path || err != nil {
		t.Errorf("removed: %q, %v", got, err)
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
