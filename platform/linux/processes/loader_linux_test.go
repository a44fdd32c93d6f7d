// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// loaderOf is the dynamic loader that a program asks for.
func loaderOf(t *testing.T, program string) string {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	at := slices.IndexFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	testenv.Need(t, at >= 0, "programs that a dynamic loader links")
	name, err := io.ReadAll(file.Progs[at].Open())
	if err != nil {
		t.Fatal(err)
	}
	loader, err := filepath.EvalSymlinks(string(bytes.TrimRight(name, "\x00")))
	if err != nil {
		t.Fatal(err)
	}
	return loader
}

// inMemory is a copy of a program in memory alone.
func inMemory(t *testing.T, name string, program []byte) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { file.Close() })
	if _, err := file.Write(program); err != nil {
		t.Fatal(err)
	}
	return file
}

// loaded runs a file by a loader until the test ends, with what it has open as 3 and with a library that it loads before
// all others, "" for none.
func loaded(t *testing.T, loader, file string, open *os.File, library string) int {
	t.Helper()
	return sleeps(t, exec.Command(loader, file, "600"), open, library)
}

func sleeps(t *testing.T, c *exec.Cmd, open *os.File, library string) int {
	t.Helper()
	c.Args[0], c.ExtraFiles, c.Env = "sleepd", []*os.File{open}, []string{"LD_PRELOAD=" + library}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "the program sleeps", func() bool {
		wait, err := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/syscall") // clock_nanosleep(2), and not a number of the loader's
		return err == nil && bytes.HasPrefix(wait, []byte(strconv.Itoa(unix.SYS_CLOCK_NANOSLEEP)+" "))
	})
	return c.Process.Pid
}

// The kernel shows the loader in the place of what that runs, which is looked at as if it had been started by itself.
func TestWhatALoaderRunsIsLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	loader := loaderOf(t, "/bin/sleep")
	for _, dir := range []string{"/mnt", "/var/tmp"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"evil", "gone"} {
			if err := os.WriteFile(dir+"/"+name, sleep, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	libm, err := os.ReadFile(filepath.Dir(loader) + "/libm.so.6")
	if err == nil {
		err = os.WriteFile("/var/tmp/libm.so.6", libm, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	memory := inMemory(t, "runc_cloned:/proc/self/exe", sleep)
	for _, c := range []struct {
		what, file string
		remove     bool
		disguise   processes.Disguise
		how        string
		program    string // that is said to be gone or in a folder for temporary files
		traceless  bool
		state      string
	}{
		{"memory", "/proc/self/fd/3", false, processes.Hides, `runs a program from memory that never was a file, "/memfd:runc_cloned:/proc/self/exe"`, "/memfd:runc_cloned:/proc/self/exe", true, "memory"},
		{"memory beside a library", "/proc/self/fd/3", false, processes.Hides, `runs a program from memory that never was a file, "/memfd:runc_cloned:/proc/self/exe"`, "/memfd:runc_cloned:/proc/self/exe", true, "memory"},
		{"temporary", "/var/tmp/evil", false, processes.Hides, `runs a program from a folder for temporary files, "/var/tmp/evil"`, "/var/tmp/evil", false, "present"},
		{"removed and temporary", "/var/tmp/gone", true, processes.Hides, `runs a program from a folder for temporary files, "/var/tmp/gone", which was removed`, "/var/tmp/gone", true, processes.Removed},
		{"removed", "/mnt/gone", true, processes.Hides, `runs a program whose file was removed, "/mnt/gone"`, "/mnt/gone", false, processes.Removed},
		{"somewhere", "/mnt/evil", false, processes.NoDisguise, "", loader, false, "present"},
		{"of the system", "/bin/sleep", false, processes.NoDisguise, "", loader, false, "present"},
	} {
		t.Run(c.what, func(t *testing.T) {
			library := ""
			if c.what == "memory beside a library" {
				library = "/var/tmp/libm.so.6"
			}
			pid := loaded(t, loader, c.file, memory, library)
			if c.remove {
				if err := os.Remove(c.file); err != nil {
					t.Fatal(err)
				}
			}
			if got, how := disguised(t, loader); got != c.disguise || how != c.how {
				t.Errorf("%d, %q", got, how)
			}
			gone, lost, err := New("/").GonePrograms(t.Context(), []int{pid})
			if claim := gone[pid]; err != nil || len(lost) > 0 || claim.Program != c.program || claim.Removed != (c.remove || c.state == "memory") || claim.LeavesNoFile() != c.traceless {
				t.Errorf("%+v, %v, %v", gone, lost, err)
			}
			if p := inspected(t, pid).Program; p == nil || p.Path != c.program || p.State != c.state {
				t.Errorf("%+v", p)
			}
		})
	}
	t.Run("called like a loader", func(t *testing.T) {
		pid := sleeps(t, exec.Command("/proc/self/fd/3", "600"), inMemory(t, "a/ld-x", sleep), "/var/tmp/libm.so.6")
		gone, _, err := New("/").GonePrograms(t.Context(), []int{pid})
		if claim := gone[pid]; err != nil || claim.Program != "/memfd:a/ld-x" || !claim.Removed || !claim.LeavesNoFile() {
			t.Errorf("%+v, %v", gone, err)
		}
	})
}
