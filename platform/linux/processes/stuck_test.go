// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
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
