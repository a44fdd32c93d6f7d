// SPDX-License-Identifier: Apache-2.0

//go:build linux

package scheduling

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A standing is how the kernel treats a process.
type standing struct {
	Nice             int
	IO               uintptr
	Score, Autogroup string
}

func standingOf(t *testing.T, pid int) standing {
	t.Helper()
	attr, err := unix.SchedGetAttr(pid, 0)
	must(t, err)
	io, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	group := read(t, fmt.Sprintf("/proc/%d/autogroup", pid))
	return standing{int(attr.Nice), io, strings.TrimSpace(read(t, fmt.Sprintf("/proc/%d/oom_score_adj", pid))), group[strings.Index(group, " ")+1:]}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return strings.TrimSpace(string(raw))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// renice sets the niceness of every thread, whatever the tests run with.
func renice(t *testing.T, nice int32) {
	t.Helper()
	for range maxPasses {
		for _, tid := range threads() {
			attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: nice}
			if err := unix.SchedSetAttr(tid, attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Fatal(err)
			}
		}
	}
}

// family runs a shell with a child as a program of this process, and passes the numbers of both to see
// while they run.
func family(t *testing.T, see func(pids []int)) {
	t.Helper()
	seen := false
	_, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{
		Path: "/bin/sh", Args: []string{"-c", "sleep 600 & echo $$ $!; wait"},
		OnStdout: func(piece []byte) bool {
			pids := make([]int, 2)
			if _, err := fmt.Sscan(string(piece), &pids[0], &pids[1]); err != nil {
				t.Errorf("%q: %v", piece, err)
				return false
			}
			see(pids)
			seen = true
			return false
		},
	})
	if err != nil || !seen {
		t.Fatalf("the program was not seen: %v", err)
	}
}

func niceOfThreads(t *testing.T) (nice []int) {
	t.Helper()
	for _, tid := range threads() {
		attr, err := unix.SchedGetAttr(tid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		must(t, err)
		nice = append(nice, int(attr.Nice))
	}
	slices.Sort(nice)
	return slices.Compact(nice)
}

// A service that was started from here, or a shell, would have the better place for as long as it runs.
func TestThisProcessIsPreferredAndNoneThatItStarts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	_, err := os.Stat(autogroup)
	testenv.Need(t, err == nil, "a kernel with groups of sessions (CONFIG_SCHED_AUTOGROUP)")
	unix.Setsid() // a developer has a terminal
	renice(t, 0)
	var usual standing
	family(t, func(pids []int) { usual = standingOf(t, pids[0]) })
	if usual.Nice != 0 || usual.Autogroup != "nice 0" {
		t.Fatalf("the test began with %+v", usual)
	}

	p := Prefer()
	sysexec.StartVia(p.Start)
	if own := standingOf(t, os.Getpid()); own.Nice != -20 || own.Autogroup != "nice -20" {
		t.Errorf("this process has %+v", own)
	}
	if nice := niceOfThreads(t); !slices.Equal(nice, []int{-20}) {
		t.Errorf("the threads have the niceness %d", nice)
	}
	for range 3 { // what one start gave back is there for the next
		family(t, func(pids []int) {
			for i, pid := range pids {
				if got := standingOf(t, pid); got != usual {
					t.Errorf("generation %d: %+v, want %+v", i+1, got, usual)
				}
			}
		})
	}
	daemon := filepath.Join(t.TempDir(), "pid")
	must(t, sysexec.Detach("/bin/sh", "-c", "echo $$ >"+daemon+".new; mv "+daemon+".new "+daemon+"; exec sleep 600"))
	testenv.WaitFor(t, "the daemon", func() bool { _, err := os.Stat(daemon); return err == nil })
	var pid int
	fmt.Sscan(read(t, daemon), &pid)
	if got := standingOf(t, pid); got != usual {
		t.Errorf("a daemon: %+v, want %+v", got, usual)
	}
	if own := standingOf(t, os.Getpid()); own.Nice != -20 || own.Autogroup != "nice -20" {
		t.Errorf("after it started programs, this process has %+v", own)
	}
	if nice := niceOfThreads(t); !slices.Equal(nice, []int{-20}) {
		t.Errorf("after it started programs, its threads have the niceness %d", nice)
	}
	nobodyPreferredPages(t, p)
}

// nobodyPreferredPages starts a program that stays in the session, as a pager does.
func nobodyPreferredPages(t *testing.T, p *Preference) {
	t.Helper()
	err := p.Start(&syscall.SysProcAttr{}, func() error {
		if got := standingOf(t, os.Getpid()).Autogroup; got != "nice 0" {
			t.Errorf("the session that a person's program shares has %s", got)
		}
		return nil
	})
	must(t, err)
}

// The runtime makes threads when it needs them.
func TestAThreadThatBeginsLaterIsPreferred(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	renice(t, 0)
	Prefer()
	known, later := threads(), make(chan int)
	for range 2 * len(known) {
		go func() {
			runtime.LockOSThread() // ends with the goroutine
			if !slices.Contains(known, unix.Gettid()) {
				attr, err := unix.SchedGetAttr(0, 0)
				if err != nil {
					t.Error(err)
				}
				later <- int(attr.Nice)
			}
			select {}
		}()
	}
	if nice := <-later; nice != -20 {
		t.Errorf("a new thread has the niceness %d", nice)
	}
}

func TestWhatRootGaveARunStays(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	unix.Setsid()
	score := filepath.Join(t.TempDir(), "oom_score_adj")
	must(t, os.WriteFile(score, []byte("300\n"), 0o600))
	renice(t, 5)
	p := Prefer()
	p.spare(score)
	if nice, got := niceOfThreads(t), read(t, score); !slices.Equal(nice, []int{5}) || got != "300" || p.autogroup != "" {
		t.Errorf("niceness %d, score %s, autogroup %q", nice, got, p.autogroup)
	}
}

// The file is a list of what was written here; the kernel takes the last.
func TestAProgramIsKilledForWantOfMemoryAsAnyOther(t *testing.T) {
	score := filepath.Join(t.TempDir(), "oom_score_adj")
	must(t, os.WriteFile(score, []byte("0\n"), 0o600))
	p := &Preference{}
	p.spare(score)
	started := ""
	for _, failure := range []error{nil, os.ErrNotExist} {
		if err := p.Start(&syscall.SysProcAttr{}, func() error { started = read(t, score); return failure }); !errors.Is(err, failure) {
			t.Error(err)
		}
		if after := read(t, score); !strings.HasPrefix(started, "-900") || !strings.HasSuffix(started, "\n0") || !strings.HasSuffix(after, "\n0\n-900") {
			t.Errorf("while it was started %q, after it %q", started, after)
		}
	}
	p.score.Close()
	if err := p.Start(&syscall.SysProcAttr{}, func() error { t.Error("started with a better place"); return nil }); err == nil {
		t.Error("no error")
	}
}
