// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Any user can hold the directory of a process of root's in /proc, and must not switch blocks off so.
func TestAProcessOfRootsThatAUserHoldsLeavesNoGap(t *testing.T) {
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
	r := New("/")
	files, err := r.proc.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	pass := r.reading(files)
	defer pass.leave()
	s, err := pass.Read(t.Context())
	there := slices.ContainsFunc(s.Processes, func(p sessions.Process) bool { return p.PID == c.Process.Pid && p.Name == "sleep" })
	if err != nil || !there || len(s.Unread) != 0 {
		t.Errorf("there %t, unread %q, %v", there, s.Unread, err)
	}
}
