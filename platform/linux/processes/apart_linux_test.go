// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Root inspects a process whose directory in /proc a user holds, in the first run and in those after it.
func TestAProcessThatAUserHoldsIsInspected(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil { // where it is noted
		t.Fatal(err)
	}
	pid := sleeper(t)
	deadfuse.Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(pid)))
	for range 2 {
		o, err := NewInspector("/", nil, time.Now).Inspect(t.Context(), pid)
		if err != nil || o.Name != "sleep" || o.Program == nil || o.OpenFiles == nil || o.OpenFiles.Total < 3 || o.Memory == nil {
			t.Errorf("%+v, %v", o, err)
		}
	}
}
