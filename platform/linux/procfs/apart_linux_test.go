// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Any user can hold the directory of any process. Root reads it all the same, and all that there is of it.
func TestAProcessOfRootsThatAUserHoldsIsRead(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := deadfuse.HeldProcess(t, nil)
	for _, run := range []string{"first run", "next run"} {
		t.Run(run, func(t *testing.T) { readHeld(t, pid) })
	}
}

// What the kernel has at hand of a process is found in spite of who holds its directory, and says nothing of the rest.
func TestAProcessThatIsHeldOnceItWasReadIsRead(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := deadfuse.HeldProcess(t, func(pid int) {
		if _, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")); err != nil {
			t.Fatal(err)
		}
	})
	fs := New("/")
	if _, stuck, err := fs.Processes(t.Context()); len(stuck) != 0 || err != nil {
		t.Errorf("stuck %v, %v", stuck, err)
	}
	if program, err := fs.Executable(pid); !strings.HasPrefix(program, "/") || err != nil {
		t.Errorf("its program: %q, %v", program, err)
	}
	fs.apart = newApart("elsewhere")
	if _, stuck, err := fs.Processes(t.Context()); !slices.Equal(stuck, []int{pid}) || err != nil {
		t.Errorf("without another /proc: stuck %v, %v", stuck, err)
	}
	if _, err := fs.Executable(pid); !errors.Is(err, ErrStuck) {
		t.Errorf("without another /proc: %v", err)
	}
}

// A thread with files of its own is below a name in /proc that is listed nowhere, and that a user can hold, too.
func TestAThreadOfAProcessThatIsReadApart(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	testenv.Need(t, compares(), "kcmp(2)")
	end, opened := make(chan struct{}), make(chan int)
	defer close(end)
	name := filepath.Join(t.TempDir(), "file")
	onLaterThread(end, func() {
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			t.Error(err)
		}
		if _, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600); err != nil {
			t.Error(err)
		}
		opened <- unix.Gettid()
		<-end
	})
	task := <-opened
	deadfuse.Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(task)))
	fs, found := New("/"), 0
	if _, err := fs.apart.fd(); err != nil {
		t.Fatal(err)
	}
	fs.apart.put(os.Getpid(), nil)
	_, err := fs.OpenFiles(t.Context(), []int{os.Getpid()}, func(f OpenFile) bool {
		if string(f.Link) == name {
			found++
			held, err := fs.Held(f.PID, f.Name())
			if f.Task != task || len(f.About()) == 0 || held.Links != 1 || err != nil {
				t.Errorf("thread %d of %d, %q, %+v, %v", f.Task, task, f.About(), held, err)
			}
		}
		return true
	})
	if found != 1 || err != nil {
		t.Errorf("found %d times, %v", found, err)
	}
}

// Where there is no other /proc to be had, nothing of a process that is kept from being read is asked for.
func TestNothingIsReadOfAProcessThatIsStuck(t *testing.T) {
	testenv.HangGuard(t)
	root := testenv.Plant(t, map[string]string{"proc/7/task/8/": "", "run/keep": ""})
	for _, file := range []string{"stat", "status", "cmdline", "cgroup", "maps", "net/dev", "net/tcp", "task/8/exe", "task/8/wchan"} {
		testenv.PlantStuck(t, filepath.Join(root, "proc/7", file))
	}
	fs := New(root)
	if _, err := fs.ProcessInTime(7); !errors.Is(err, ErrStuck) {
		t.Fatal(err)
	}
	r, err := fs.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for what, read := range map[string]func() error{
		"its status":        func() error { _, err := fs.Status(7); return err },
		"its group":         func() error { _, err := fs.ControlGroup(7); return err },
		"its arguments":     func() error { return fs.Titles([]int{7})[0].Err },
		"a program":         func() error { faces, err := fs.Faces([]int{7}); return cmp.Or(err, faces[0].Err) },
		"what is mapped":    func() error { _, err := fs.mapsLack(7, "x"); return err },
		"its interfaces":    func() error { _, err := fs.Of(7).Interfaces(); return err },
		"its sockets":       func() error { return fs.Of(7).Sockets("tcp", func(Socket) {}) },
		"its threads":       func() error { _, err := fs.Threads(7); return err },
		"a thread":          func() error { _, err := fs.Thread(7); return err },
		"a thread's place":  func() error { return fs.Together(7, 8) },
		"where a thread is": func() error { _, err := fs.WaitChannel(7, 8); return err },
		"a link":            func() error { _, err := fs.readlink("7", "task", "8", "exe"); return err },
		"a path":            func() error { _, err := fs.Path(7, "exe"); return err },
		"its open files":    func() error { return r.Files(7, func(OpenFile) bool { return true }) },
	} {
		if err := read(); !errors.Is(err, ErrStuck) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func readHeld(t *testing.T, pid int) {
	fs := New("/")
	table, stuck, err := fs.Processes(t.Context())
	if len(stuck) != 0 || err != nil || len(table) < 3 {
		t.Errorf("%d processes, stuck %v, %v", len(table), stuck, err)
	}
	p, err := fs.Process(pid)
	if p.Name != "sleep" || err != nil || !fs.Apart(pid) {
		t.Errorf("the process: %+v, %v", p, err)
	}
	if line, err := fs.CommandLine(pid); len(line) != 2 || err != nil {
		t.Errorf("its arguments: %q, %v", line, err)
	}
	if uid, err := fs.User(pid); uid != 0 || err != nil {
		t.Errorf("its user: %d, %v", uid, err)
	}
	if faces, err := fs.Faces([]int{pid}); err != nil || faces[0].Err != nil || filepath.Base(faces[0].Program) != "sleep" && filepath.Base(faces[0].Program) != "coreutils" {
		t.Errorf("its program: %+v, %v", faces, err)
	}
	if space, err := fs.Link(pid, "ns/net"); !strings.HasPrefix(space, "net:[") || err != nil {
		t.Errorf("its network: %q, %v", space, err)
	}
	if n, err := fs.Of(pid).Interfaces(); len(n) == 0 || err != nil {
		t.Errorf("its interfaces: %v, %v", n, err)
	}
	if threads, err := fs.Threads(pid); len(threads) != 1 || err != nil {
		t.Errorf("its threads: %v, %v", threads, err)
	}
	files := 0
	skipped, err := fs.OpenFiles(t.Context(), []int{pid}, func(OpenFile) bool { files++; return true })
	if files < 3 || len(skipped) != 0 || err != nil {
		t.Errorf("%d open files, skipped %v, %v", files, skipped, err)
	}
	if _, err := fs.Link(pid, "none"); !os.IsNotExist(err) || !strings.Contains(err.Error(), " /proc/"+strconv.Itoa(pid)+"/none") {
		t.Errorf("an error: %v", err)
	}
}
