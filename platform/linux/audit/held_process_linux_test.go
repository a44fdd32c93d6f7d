// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Any user can hold the directory of a process in /proc, and must not keep what others run from being looked at so.
func TestAProcessThatAUserHoldsIsLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil { // where it is noted
		t.Fatal(err)
	}
	c := exec.Command(testenv.Program(t, "sleep", "coreutils"), "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	deadfuse.Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(c.Process.Pid)))
	m := &machine{Parts: Parts{Root: "/"}}
	all, err := m.processTable(t.Context())
	there := slices.ContainsFunc(all.list, func(p runningProcess) bool {
		return p.pid == c.Process.Pid && p.name == "sleep" && strings.HasSuffix(p.program, "/sleep")
	})
	if err != nil || !there || all.hidden != 0 {
		t.Errorf("there %t, %d hidden, %v", there, all.hidden, err)
	}
}
