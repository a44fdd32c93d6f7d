// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"cmp"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// byOpenFiles orders processes by how many files they have open, most first, and leaves out those
// that have none, such as kernel threads. Most sockets belong to the few processes with many files,
// so a search in this order ends early. The sort is stable.
//
// The size of /proc/PID/fd is the number of open files since Linux 6.2, and anyone may ask for it.
// Before that it is 0 for every process, and the order is left unchanged.
func (d dirHandle) byOpenFiles(pids []int) []int {
	if d.size("self/fd") <= 0 {
		return pids
	}
	type candidate struct {
		pid   int
		files int64
	}
	list := make([]candidate, 0, len(pids))
	for _, pid := range pids {
		if files := d.size(strconv.Itoa(pid) + "/fd"); files != 0 {
			list = append(list, candidate{pid, files})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.files, a.files) })
	order := make([]int, len(list))
	for i, c := range list {
		order[i] = c.pid
	}
	return order
}

// size returns the size of a file below d, or -1 if it cannot be read: the process has ended, or
// hidepid (proc(5)) hides it.
func (d dirHandle) size(path string) int64 {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(d), path, &stat, 0); err != nil {
		return -1
	}
	return stat.Size
}
