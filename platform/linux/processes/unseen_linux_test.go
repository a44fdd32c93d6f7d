// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// ranFrom runs a child of this test binary from a path, under the name of a daemon.
func ranFrom(t *testing.T, path, kind string) int {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	c := &exec.Cmd{Path: path, Args: []string{"sshd"}, Env: append(os.Environ(), childMark+"="+kind)}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c.Process.Pid
}

// The kernel does not name a program at such a path, which any user can make.
func TestAPathThatIsTooLongHidesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	t.Chdir(t.TempDir())
	for range 25 {
		name := strings.Repeat("d", 200)
		if err := unix.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chdir(name); err != nil {
			t.Fatal(err)
		}
	}
	pid := ranFrom(t, "./sshd", "stubborn")
	testenv.WaitFor(t, "the program runs", func() bool {
		p, err := New("/").proc.Process(pid)
		return err == nil && p.Name == "sshd"
	})
	for _, state := range []string{"present", processes.Removed} {
		found, err := New("/").disguises(t.Context(), testenv.HangLimit)
		found = slices.DeleteFunc(found, func(d Disguised) bool { return d.PID == os.Getpid() }) // built in a temporary folder
		if err != nil || len(found) != 1 || found[0].PID != pid || found[0].Disguise != processes.Pretends {
			t.Errorf("%s: %+v, %v", state, found, err)
		}
		if i := inspected(t, pid); i.Program == nil || i.Program.Path != procfs.TooLong || i.Program.State != state || i.Program.RootOnly {
			t.Errorf("%s: %+v", state, i.Program)
		}
		os.Remove("sshd")
	}
}

// The mark of a file that was removed may be in a name.
func TestAProgramMayBeCalledLikeARemovedOne(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	file := filepath.Join(t.TempDir(), "nginx (deleted)")
	pid := ranFrom(t, file, "stubborn")
	if i := inspected(t, pid); i.Program == nil || i.Program.Path != file || i.Program.State != "present" {
		t.Errorf("%+v", i.Program)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if i := inspected(t, pid); i.Program == nil || i.Program.Path != file || i.Program.State != processes.Removed {
		t.Errorf("removed: %+v", i.Program)
	}
}

func TestAFirstThreadThatEndedHidesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("none", "/mnt", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	pid := ranFrom(t, "/mnt/sshd", "headless")
	testenv.WaitFor(t, "the first thread ends", func() bool {
		p, err := New("/").proc.Process(pid)
		return err == nil && p.Headless
	})
	found, err := New("/").disguises(t.Context(), testenv.HangLimit)
	found = slices.DeleteFunc(found, func(d Disguised) bool { return d.PID == os.Getpid() }) // built in a temporary folder
	if err != nil || len(found) != 1 || found[0].PID != pid || found[0].Disguise != processes.Pretends {
		t.Errorf("%+v, %v", found, err)
	}
	o, err := NewInspector("/", nil, time.Now).Inspect(t.Context(), pid)
	if err != nil || o.Program == nil || o.Program.Path != "/mnt/sshd" || o.OpenFiles == nil || o.OpenFiles.Total == 0 || o.WaitsFor == "" ||
		o.MostOpen != o.OpenFiles.Total || o.Status == "zombie" || !o.FirstThreadEnded || o.Memory == nil || o.Memory.ResidentMB < 1 {
		t.Errorf("%+v, %v", o, err)
	}
	table, err := New("/").Table(t.Context())
	row := slices.IndexFunc(table.Samples, func(s processes.Sample) bool { return s.PID == pid })
	if err != nil || row < 0 || table.Samples[row].State == 'Z' || table.Samples[row].MemoryBytes < 1<<20 {
		t.Errorf("%+v, %v", table.Samples, err)
	}
	if err := os.Remove("/mnt/sshd"); err != nil {
		t.Fatal(err)
	}
	held := false
	_, err = procfs.New("/").HeldFiles(t.Context(), func(procfs.OpenFile) bool { return true }, func(f procfs.NamelessFile) bool {
		held = held || f.PID == pid && f.Path == "/mnt/sshd"
		return true
	})
	if !held || err != nil {
		t.Errorf("what it runs is held by it: %t, %v", held, err)
	}
}
