// SPDX-License-Identifier: Apache-2.0

//go:build linux

package caller

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/platform/linux/scheduling"
)

// How the kernel treats a thread that nobody has changed.
const (
	timerSlack = 50_000 // nanoseconds by which a timer may be late (PR_SET_TIMERSLACK)
	ioNone     = 0      // follows the niceness (ioprio_set(2))
	ioThread   = 1      // IOPRIO_WHO_PROCESS, which means one thread
)

// schedule gives every thread of this process the scheduling of a service of root's: a thread with
// the least right to one processor does not run while another process uses that one.
func schedule() { scheduling.OnThreads(scheduleThread) }

// scheduleThread changes one thread, 0 for this one, and reports whether anything had to be changed
// and could be. It takes nothing away: what root raised before stays.
func scheduleThread(tid int) (changed bool) {
	changed = usual(tid)
	changed = allProcessors(tid) || changed
	changed = usualIO(tid) || changed
	return punctual(tid) || changed
}

// usual sets the policy SCHED_OTHER with niceness 0 (sched_setattr(2)).
func usual(tid int) bool {
	now, err := unix.SchedGetAttr(tid, 0)
	if err != nil || now.Policy == unix.SCHED_NORMAL && now.Nice <= 0 {
		return false
	}
	return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0) == nil
}

// allProcessors lets the thread run wherever its control group may (sched_setaffinity(2)).
func allProcessors(tid int) bool {
	var before, all, after unix.CPUSet
	all.Fill()
	if unix.SchedGetaffinity(tid, &before) != nil || unix.SchedSetaffinity(tid, &all) != nil || unix.SchedGetaffinity(tid, &after) != nil {
		return false
	}
	return before != after
}

func usualIO(tid int) bool {
	now, _, err := unix.Syscall(unix.SYS_IOPRIO_GET, ioThread, uintptr(tid), 0)
	if err != 0 || now == ioNone {
		return false
	}
	_, _, err = unix.Syscall(unix.SYS_IOPRIO_SET, ioThread, uintptr(tid), ioNone)
	return err == 0
}

// punctual resets the timer slack, which any user can make so large that no timeout ever ends
// (PR_SET_TIMERSLACK(2const)).
func punctual(tid int) bool {
	if tid == 0 {
		tid = unix.Gettid()
	}
	path := "/proc/" + strconv.Itoa(tid) + "/timerslack_ns"
	raw, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	if now, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64); err != nil || now <= timerSlack {
		return false
	}
	return os.WriteFile(path, strconv.AppendInt(nil, timerSlack, 10), 0) == nil
}
