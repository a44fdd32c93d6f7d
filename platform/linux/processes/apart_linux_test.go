// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// A user who holds the directory of a process that serves what they have mounted keeps no plan to end it waiting.
func TestAServerThatAUserHoldsIsPlannedFor(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil { // where it is noted
		t.Fatal(err)
	}
	own, pid := heldMount(t, 1000)
	deadfuse.Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(pid)))
	if p := plan(t, processes.Target{PID: pid}); !slices.Equal(p.Subject().MountPoints, []string{own.Dir}) {
		t.Errorf("%+v", p.Subject())
	}
}

// Root inspects a process whose directory in /proc a user holds, in the first run and in those after it.
func TestAProcessThatAUserHoldsIsInspected(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := deadfuse.HeldProcess(t, nil)
	for range 2 {
		o, err := NewInspector("/", nil, time.Now).Inspect(t.Context(), pid)
		if err != nil || o.Name != "sleep" || o.Program == nil || o.OpenFiles == nil || o.OpenFiles.Total < 3 || o.Memory == nil {
			t.Errorf("%+v, %v", o, err)
		}
	}
}
