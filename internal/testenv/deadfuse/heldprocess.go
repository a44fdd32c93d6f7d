// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deadfuse

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// HeldProcess starts a program of root's that sleeps, calls before with its PID unless that is nil, and has a user hold
// its directory in /proc; see [Hold]. The test must be isolated: what runs note of it is in a /run of its own.
func HeldProcess(t testing.TB, before func(pid int)) (pid int) {
	t.Helper()
	Become()
	testenv.HangGuard(t)
	testenv.RequireIsolated(t)
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(testenv.Program(t, "sleep", "coreutils"), "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if before != nil {
		before(c.Process.Pid)
	}
	Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(c.Process.Pid)))
	return c.Process.Pid
}
