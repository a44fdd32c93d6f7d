// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"sentinel/internal/sanitize"
)

// maxCommand caps the part of a command line that is read, in bytes. Programs can make theirs
// megabytes long.
const maxCommand = 8 << 10

// CommandLine reads the arguments of a process. Kernel threads and zombies have none. A process can
// rewrite its own, so it proves nothing; and it can keep others from reading them, which is
// [ErrStuck] after a while. Do not call it while holding a lock that others wait for.
func (fs FS) CommandLine(pid int) ([]string, error) {
	raw, err := fs.Head(pid, "cmdline", maxCommand)
	if err != nil {
		return nil, err
	}
	args := splitCommand(raw)
	if n := len(raw); n == maxCommand && raw[n-1] != 0 {
		last := len(args) - 1
		args[last] = sanitize.Cut(args[last], len(args[last])-1)
	}
	return args, nil
}

// splitCommand splits at the NUL after each argument. Processes that set their title (setproctitle)
// leave one long string and padding.
func splitCommand(b []byte) []string {
	b = bytes.TrimRight(b, "\x00")
	if len(b) == 0 {
		return nil
	}
	var args []string
	for part := range bytes.SplitSeq(b, []byte{0}) {
		args = append(args, string(part))
	}
	return args
}

// FilesOf returns the user to whom the kernel shows what a process has open, besides root: its effective user,
// or root where it may not be traced (task_dump_owner, fs/proc/base.c); -1 if that cannot be read.
func (fs FS) FilesOf(pid int) int {
	uid, err := fs.ownerOf(pid, "fd")
	if err != nil {
		return -1
	}
	return uid
}

// ownerOf returns the user whom the kernel names as the owner of a file of a process; "" is its directory.
func (fs FS) ownerOf(pid int, name string) (int, error) {
	var stat syscall.Stat_t
	of := []string{strconv.Itoa(pid), name}
	path, err := fs.path(of...)
	if name == "" { // takes no lock that another could hold
		path, err = fs.name(of...), nil
	}
	if err != nil {
		return 0, err
	}
	if err := syscall.Stat(path, &stat); err != nil {
		return 0, &os.PathError{Op: "stat", Path: fs.name(of...), Err: err}
	}
	return int(stat.Uid), nil
}

// User returns the user that a process belongs to: the owner of a subordinate user ID (subuid(5)), or else
// its user as [FS.UID] tells.
func (fs FS) User(pid int) (int, error) {
	uid, err := fs.UID(pid)
	return fs.users.of(uid), err
}

// userOf is [FS.User], or unknownUser.
func (fs FS) userOf(pid int) int {
	uid, err := fs.User(pid)
	if err != nil {
		return unknownUser
	}
	return uid
}

func parseUID(b []byte) (int, error) {
	ids, err := parseUserIDs(b)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// parseUserIDs parses the real, effective, saved and file system one.
func parseUserIDs(b []byte) (ids []int, err error) {
	for line := range lines(b) {
		rest, ok := bytes.CutPrefix(line, []byte("Uid:"))
		if !ok {
			continue
		}
		for field := range bytes.FieldsSeq(rest) {
			if n, ok := number(field); ok && n < 1<<32 {
				ids = append(ids, int(n))
			}
		}
		break
	}
	if len(ids) != 4 {
		return nil, fmt.Errorf("uid: %w", ErrFormat)
	}
	return ids, nil
}

// Groups reads the groups of a process from /proc/PID/status: those it was started with, the one whose rights
// it has now, and the supplementary ones. The error is [ErrOtherUsers] where they are anything that its user likes.
func (fs FS) Groups(pid int) ([]int, error) {
	if ours, err := fs.inOurUsers(pid); err == nil && !ours {
		return nil, ErrOtherUsers
	}
	return readWith(fs, parseGroups, strconv.Itoa(pid), "status")
}

func parseGroups(b []byte) (list []int, err error) {
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "Gid" && string(name) != "Groups" {
			continue
		}
		for field := range bytes.FieldsSeq(rest) {
			n, ok := number(field)
			if !ok || n >= 1<<32 {
				return nil, fmt.Errorf("groups: %w", ErrFormat)
			}
			list = append(list, int(n))
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("groups: %w", ErrFormat)
	}
	return list, nil
}

// Process reads the stat file of one process.
func (fs FS) Process(pid int) (ProcessStat, error) {
	p, err := readWith(fs, parseProcessStat, strconv.Itoa(pid), "stat")
	if err == nil && p.Headless {
		fs.revive(&p)
	}
	return p, err
}
