// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// threads counts those of a process: each adds a link to its directory of them (proc_task_getattr, fs/proc/base.c).
func (d dirHandle) threads(pid int) int {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(d), strconv.Itoa(pid)+"/task", &stat, 0); err != nil {
		return 0
	}
	return int(stat.Nlink) - 2 //nolint:unconvert // its type differs by architecture
}

// ownFiles lists threads of a process that have open files of their own, which /proc/PID/fd does not
// show: those that left the table of the first thread (CLONE_FILES of unshare(2)), and one of those that
// go on after that has ended. Where kcmp(2) is not allowed none is known.
func (d dirHandle) ownFiles(pid int, buf []byte) (own []int) {
	if d.threads(pid) < 2 {
		return nil
	}
	fd, err := d.open(pid, "/task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)                           //nolint:errcheck // only read from
	tids, _ := dirHandle(fd).numbersWith(buf, nil) //nolint:errcheck // the process has ended, or these are all
	last := pid
	for _, tid := range tids {
		if tid != pid && otherFiles(pid, tid) && (last == pid || otherFiles(last, tid)) {
			own, last = append(own, tid), tid
		}
	}
	return own
}

// otherFiles says that two threads do not share their table of open files.
func otherFiles(a, b int) bool {
	const files = 2 // KCMP_FILES
	order, _, failed := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), files, 0, 0, 0)
	return failed == 0 && order != 0
}
