// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privilege

import (
	"slices"
	"syscall"
)

// LeaveGroups has this process, with all its threads, leave supplementary groups but root's own, which sudo -P keeps of
// who called it: what it starts would have them as well. It stays in them where the threads may not all be reached.
func LeaveGroups() {
	groups, err := syscall.Getgroups()
	if err != nil || !slices.ContainsFunc(groups, func(id int) bool { return id != 0 }) || reachesThreads() != nil {
		return
	}
	syscall.Setgroups([]int{0}) //nolint:errcheck // what root may not do stays as it is
}
