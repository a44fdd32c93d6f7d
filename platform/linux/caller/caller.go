// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package caller takes a run as root out of the hands of the user who started it through sudo, in
// the ways that only Linux has.
package caller

import (
	"os"
	"strings"

	"sentinel/platform/linux/cgroup"
)

// Leave makes the right to processors and memory that of a service of root's. What the system does not
// let it change stays as it is: the worst of that is a lock that others wait for until its lease is over.
func Leave() {
	schedule()
	standInOOM()
	LeaveMemory()
}

// LeaveGroup leaves the control group of the caller, where the system lets it.
func LeaveGroup() {
	cgroup.Leave("/") //nolint:errcheck // see Leave
}

// oomScoreAdj is added to the badness of this process when memory runs out (proc_pid_oom_score_adj(5)):
// anyone can raise it, which makes the kernel end this process before all others.
const oomScoreAdj = "/proc/self/oom_score_adj"

func standInOOM() {
	raw, err := os.ReadFile(oomScoreAdj)
	if text := strings.TrimSpace(string(raw)); err != nil || text == "0" || strings.HasPrefix(text, "-") {
		return
	}
	os.WriteFile(oomScoreAdj, []byte("0"), 0) //nolint:errcheck // see Leave
}
