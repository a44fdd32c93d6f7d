// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Any user can hold the directory of a process in /proc, and must not keep what others run from being looked at so.
func TestAProcessThatAUserHoldsIsLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := deadfuse.HeldProcess(t, nil)
	m := &machine{Parts: Parts{Root: "/"}}
	all, err := m.processTable(t.Context())
	there := slices.ContainsFunc(all.list, func(p runningProcess) bool {
		return p.pid == pid && p.name == "sleep" && strings.HasSuffix(p.program, "/sleep")
	})
	if err != nil || !there || all.hidden != 0 {
		t.Errorf("there %t, %d hidden, %v", there, all.hidden, err)
	}
}
