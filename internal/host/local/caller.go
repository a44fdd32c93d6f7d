// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"slices"

	"sentinel/internal/privilege"
	"sentinel/platform/unix/caller"
)

// LeaveCaller takes a run as root with these arguments out of the hands of the user who started it
// through sudo: what that user may do to processes must not stop one that holds a lock. It comes
// before everything else. Root's own run keeps what root gave it.
func LeaveCaller(args []string, getenv func(string) string) {
	if !privilege.IsRoot() {
		return
	}
	caller.Umask()
	if uid, _, ok := privilege.SudoUser(getenv); !ok || uid == 0 {
		return
	}
	leaveCaller()
	caller.Leave()
	if slices.Contains(args, "--request") {
		caller.LeaveSession()
	}
}
