// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Any user can hold the directory of a process of root's in /proc, and must not switch blocks off so.
func TestAProcessOfRootsThatAUserHoldsLeavesNoGap(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := deadfuse.HeldProcess(t, nil)
	r := New("/")
	files, err := r.proc.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	pass := r.reading(files)
	defer pass.leave()
	s, err := pass.Read(t.Context())
	there := slices.ContainsFunc(s.Processes, func(p sessions.Process) bool { return p.PID == pid && p.Name == "sleep" })
	if err != nil || !there || len(s.Unread) != 0 {
		t.Errorf("there %t, unread %q, %v", there, s.Unread, err)
	}
}
