// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// endStuck ends the holders of the lock at path that do not go on, and reports whether there were
// any. What a lock guards is whole at every moment, so a holder may be ended at any.
//
// A holder is ended only if it is a run of this program by the same user: another program that has
// locked the file has nothing to do with sentinel, and is left to people.
func endStuck(path string) (ended bool) {
	file, err := os.Stat(path)
	if err != nil || !ownProc() {
		return false
	}
	for _, pid := range holders(path) {
		ended = endIfStuck(pid, path, file) || ended
	}
	return ended
}

// ownProc reports whether /proc shows the PIDs of this process's namespace.
func ownProc() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// endIfStuck pins the process before it looks at it: if it ends meanwhile and another one gets its
// PID, the signal goes nowhere.
func endIfStuck(pid int, path string, file os.FileInfo) bool {
	if pid == os.Getpid() {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if !hasOpen(pid, file) || !ownRun(pid) || !stuck(pid, path) {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// ownRun reports whether a process is a run of this program by the user of this process, who alone can have it run
// what has this name: an update replaces the file, and a copy is run from elsewhere.
func ownRun(pid int) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	mine, theirs := realUID("/proc/self"), realUID(dir)
	if mine == "" || mine != theirs {
		return false
	}
	own, err := os.Readlink("/proc/self/exe")
	other, otherErr := os.Readlink(filepath.Join(dir, "exe"))
	if err != nil || otherErr != nil {
		return false
	}
	const deleted = " (deleted)" // proc_pid_exe(5)
	return filepath.Base(strings.TrimSuffix(own, deleted)) == filepath.Base(strings.TrimSuffix(other, deleted))
}

// stuck reports whether a holder does not go on: it was stopped by a signal, or its lease is over.
// One that shares the lock signs nothing; its lease counts from its start.
func stuck(pid int, path string) bool {
	state, age, err := stateOf(pid)
	if err != nil {
		return false
	}
	if h, ok := signed(path); ok && h.PID == pid {
		return state == 'T' || h.expired()
	}
	return state == 'T' || age > Lease.Milliseconds()
}

var errStat = errors.New("unexpected format")

// tick is the unit of times in proc_pid_stat(5), in milliseconds.
const tick = 10

// stateOf returns the state of a process and its age in milliseconds (proc_pid_stat(5)).
func stateOf(pid int) (state byte, age int64, err error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0, err
	}
	state, start, err := parseStat(raw)
	if err != nil {
		return 0, 0, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, 0, err
	}
	return state, now.Nano()/1e6 - start*tick, nil
}

// parseStat returns the third field of a stat file and the 22nd, which follow the name in brackets.
func parseStat(raw []byte) (state byte, start int64, err error) {
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, errStat
	}
	start, err = strconv.ParseInt(string(fields[19]), 10, 64)
	return fields[0][0], start, err
}

// isFile reports whether /proc/PID/fd/N is an open file, which its link tells (proc_pid_fd(5)): who has locked one reads
// or writes it, and a descriptor with O_PATH, which anybody can have of it, does neither. The server of what the process
// has open is not asked (AT_STATX_DONT_SYNC of statx(2)): it may be one of a user's that never answers. Kernels before
// Linux 4.11 and filters of system calls that do not know it have it asked.
func isFile(path string, file os.FileInfo) bool {
	if link, err := os.Lstat(path); err != nil || link.Mode()&0o600 == 0 {
		return false
	}
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &s)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(info, file)
	}
	there, ok := file.Sys().(*syscall.Stat_t)
	return err == nil && ok && s.Ino == there.Ino && unix.Mkdev(s.Dev_major, s.Dev_minor) == uint64(there.Dev)
}
