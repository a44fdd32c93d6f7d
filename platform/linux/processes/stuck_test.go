// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/linux/procfs"
)

func TestProcessThatWaitsForDeadStorageIsStillRunning(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mount := deadfuse.New(t, 0)
	pid := run(t, exec.Command("stat", filepath.Join(mount.Dir, "file")))
	select {
	case <-mount.Looks:
	case <-time.After(testenv.HangLimit):
		t.Fatal("the mount was not asked")
	}
	_, err := plan(t, processes.Target{PID: pid, ExpectName: "stat"}).Do(t.Context())
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.StillRunning || !strings.Contains(known.Message, "state D, in ") || !alive(pid) {
		t.Errorf("%v, alive %v", err, alive(pid))
	}
	unix.Unmount(mount.Dir, unix.MNT_FORCE|unix.MNT_DETACH)
	testenv.WaitFor(t, "end with the mount", func() bool { return !alive(pid) })
}

// A process that keeps its arguments from being read may call itself anything.
func TestWhatAProcessCallsItselfIsUnknownWhereItCannotBeRead(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	for range together { // whom the time for that one is lost to
		sleeper(t)
	}
	pid := deadfuse.Process(t, 1000, "quiet")
	_, err := New("/").Disguises(t.Context())
	if want := fmt.Sprintf(`the arguments of "quiet" (PID %d): `, pid); !errors.Is(err, processes.ErrLocked) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A row is a process of a tree, from whose memory nobody can read where it has no arguments.
type row struct {
	uid           int
	name, program string
	arguments     string
}

// stuckTree makes a root with processes, the first of which began first, as process 100.
func stuckTree(t *testing.T, rows []row) string {
	t.Helper()
	files, locked := map[string]string{}, []string{}
	for i, r := range rows {
		pid := fmt.Sprint(100 + i)
		files[pid+"/stat"] = fmt.Sprintf("%s (%s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %s 0 0\n", pid, r.name, pid)
		files[pid+"/status"] = fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", r.uid)
		files[pid+"/exe"] = "->" + r.program
		if files[pid+"/cmdline"] = r.arguments; r.arguments == "" {
			delete(files, pid+"/cmdline")
			locked = append(locked, pid)
		}
	}
	root := procTree(t, files)
	for _, pid := range locked {
		testenv.PlantStuck(t, filepath.Join(root, "proc", pid, "cmdline"))
	}
	return root
}

// Who has processes that nobody can read from hides none of another user, and what was not read is said.
func TestStuckProcessesHideNoOther(t *testing.T) {
	backdoor := Disguised{100, "backdoor", processes.Hides, `runs a program from a folder for temporary files, "/tmp/backdoor"`}
	thread := Disguised{101, "sleep", processes.Pretends, `calls itself a thread of the kernel and runs "/usr/bin/sleep"`}
	quiet := Disguised{102, "quiet", processes.Hides, `runs a program from a folder for temporary files, "/tmp/quiet"`}
	for name, c := range map[string]struct {
		stuck int
		first row
		want  []Disguised
		gap   string // behind the name of one of them
	}{
		"one that looks odd":        {1, row{1000, "quiet", "/tmp/quiet", ""}, []Disguised{quiet, backdoor, thread}, ""},
		"one that looks like any":   {1, row{1000, "quiet", "/usr/bin/quiet", ""}, []Disguised{backdoor, thread}, ""},
		"a hundred of one user":     {100, row{1000, "quiet", "/usr/bin/quiet", ""}, []Disguised{backdoor, thread}, " and of 99 other processes"},
		"a thousand that look odd":  {1000, row{1000, "cron", "/usr/bin/quiet", ""}, []Disguised{backdoor}, ` and of \d+ other processes`},
		"a hundred of the system's": {100, row{33, "quiet", "/usr/bin/quiet", ""}, []Disguised{backdoor, thread}, " and of 99 other processes"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := []row{{1001, "backdoor", "/tmp/backdoor", "backdoor\x00"}, {1001, "sleep", "/usr/bin/sleep", "[kworker/0:1]\x00"}}
			found, err := New(stuckTree(t, append(rows, slices.Repeat([]row{c.first}, c.stuck)...))).Disguises(t.Context())
			gap := regexp.MustCompile(`the arguments of "` + c.first.name + `" \(PID \d+\)` + c.gap + ": its memory is locked, perhaps because it waits for a dead file system$")
			for _, want := range c.want {
				if !slices.Contains(found, want) {
					t.Errorf("%+v is not among %+v", want, found)
				}
			}
			if !errors.Is(err, processes.ErrLocked) || !gap.MatchString(err.Error()) {
				t.Errorf("%v, want %q", err, gap)
			}
		})
	}
}

// A user can make reading from the memory of his processes slow, too.
func TestWhereTimeIsUpPathsTellAllTheSame(t *testing.T) {
	rows := []row{{1001, "backdoor", "/tmp/backdoor", ""}}
	l := &look{Source: New(stuckTree(t, rows))}
	odd := claimOf(100, "backdoor")
	odd.Program = "/tmp/backdoor"
	if _, err := l.titles(t.Context(), []processes.Claim{odd}); !errors.Is(err, errManyClaims) || len(l.found) != 0 {
		t.Fatalf("%+v, %v", l.found, err)
	}
	l.judgeUnread([]processes.Claim{odd})
	want := []Disguised{{100, "backdoor", processes.Hides, `runs a program from a folder for temporary files, "/tmp/backdoor"`}}
	if diff := cmp.Diff(want, l.found); diff != "" {
		t.Error(diff)
	}
}

func TestAllThatWasNotReadIsSaid(t *testing.T) {
	err := all(errManyClaims, nil, untold([]processes.Claim{{PID: 7, Name: "x"}}))
	want := `there are too many processes to look at each in time; the arguments of "x" (PID 7): its memory is locked, perhaps because it waits for a dead file system`
	if !errors.Is(err, errManyClaims) || !errors.Is(err, processes.ErrLocked) || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if err := all(nil, nil); err != nil {
		t.Error(err)
	}
}

func TestTracedProcessNamesItsTracer(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	testenv.WaitFor(t, "sleep without an obstacle, once its program is loaded", func() bool {
		return (&held{from: NewTerminator("/"), pid: pid}).Obstacle() == processes.Obstacle{}
	})
	tracer := make(chan error)
	go func() {
		tracer <- unix.PtraceSeize(pid)
		select {}
	}()
	if err := <-tracer; err != nil {
		t.Fatal(err)
	}
	got := (&held{from: NewTerminator("/"), pid: pid}).Obstacle()
	if got.Uninterruptible || got.Tracer.PID == 0 || got.Tracer.Name == "" {
		t.Errorf("got %+v", got)
	}
}

// What is told of a thread costs what its user likes, who may have thousands.
func TestThreadsThatADebuggerStoppedAreAskedFirst(t *testing.T) {
	root := procTree(t, map[string]string{
		"190/status": "Tgid:\t100\nTracerPid:\t7\nUid:\t0\t0\t0\t0\n", "7/stat": statOf("S", 0, 1, 50),
	})
	var threads []procfs.ProcessStat
	for tid := 100; tid < 200; tid++ {
		threads = append(threads, procfs.ProcessStat{PID: tid, State: 'S'})
	}
	h := &held{from: NewTerminator(root), pid: 100}
	if got := h.tracer(slices.Clone(threads)); got != (processes.Relative{}) {
		t.Errorf("thread 90 was asked: %+v", got)
	}
	threads[90].State = 't'
	if got, want := h.tracer(threads), (processes.Relative{PID: 7, Name: "x"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
