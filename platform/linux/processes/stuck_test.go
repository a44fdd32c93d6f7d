// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
