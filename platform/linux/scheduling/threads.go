// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package scheduling changes how the kernel treats this process beside others: on all threads at
// once, for the better while something short is done, and not for what this process starts.
package scheduling

import (
	"os"
	"strconv"
)

// maxPasses bounds how often the threads are listed. A thread that begins meanwhile inherits from
// the one that made it, which may be one that had not been reached.
const maxPasses = 8

// OnThreads calls change for every thread of this process: Linux schedules threads, and a program in Go
// has several when it begins. change gets the number of a thread, 0 for the calling one, and reports
// whether anything had to be changed and could be. All threads inherit from the first one, so if
// the calling one needs no change, none does.
func OnThreads(change func(tid int) (changed bool)) {
	if !change(0) {
		return
	}
	for pass := 0; pass < maxPasses && onAll(change); pass++ {
	}
}

func onAll(change func(tid int) bool) (changed bool) {
	for _, tid := range threads() {
		changed = change(tid) || changed
	}
	return changed
}

func threads() (tids []int) {
	entries, _ := os.ReadDir("/proc/self/task") //nolint:errcheck // without it the calling thread is changed alone
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}
