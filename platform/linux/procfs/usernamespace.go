// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"strconv"
	"sync"
)

// ErrOtherUsers says that a process is in another user namespace than this run, where whoever made that gives it
// what groups they like.
var ErrOtherUsers = errors.New("it is in another user namespace")

// inOurUsers reports whether a process is in the user namespace of this run. Where a kernel has no such
// namespaces, and once the process has ended, the error is fs.ErrNotExist; fs.ErrPermission, where this run
// may not trace it.
func (f FS) inOurUsers(pid int) (bool, error) {
	its, err := f.Link(pid, "ns/user")
	if err != nil {
		return false, err
	}
	own, err := ourUsers()
	return err == nil && its == own, nil
}

// ourUsers returns the user namespace of this run, in which it stays: one with threads cannot leave it (unshare(2)).
var ourUsers = sync.OnceValues(func() (string, error) { return os.Readlink("/proc/self/ns/user") })

// OfOurUsers is inOurUsers where it is certain. Who makes a mount namespace without being root is in
// another user namespace (user_namespaces(7)), and does not come back.
func (f FS) OfOurUsers(pid int) bool {
	if f.dir != "/proc" {
		return true
	}
	ours, err := f.inOurUsers(pid)
	return ours && err == nil
}

// effectiveUID returns the user whose rights a process has, as the directory of it in /proc tells, traced or not
// (task_dump_owner, fs/proc/base.c). It is enough where the status file would say nothing better, and may be
// expensive to read.
//
// In a user namespace anybody has the IDs that are subordinate to them, and none of another user or of the
// system. With those of groups (subgid(5)) each process there can be in 65,536 groups, and the kernel takes
// 20 ms to write them all into that file, however little of it is read. Here, root alone gives so many.
func (f FS) effectiveUID(pid int) (uid int, enough bool, err error) {
	if uid, err = f.ownerOf(pid, ""); err != nil {
		return unknownUser, false, err
	}
	ours, err := f.inOurUsers(pid)
	if errors.Is(err, os.ErrPermission) {
		return uid, !SystemAccount(uid), nil
	}
	return uid, err == nil && !ours, nil
}

// ActsAsRoot reports whether a process has the rights of root, whoever's it is. What cannot be looked at, such as a
// process that has ended, has none.
func (f FS) ActsAsRoot(pid int) bool {
	uid, err := f.ownerOf(pid, "")
	return err == nil && uid == 0
}

// UID returns the real user ID of a process: whoever starts a set-user-ID program keeps it. Of a process in another
// user namespace it is the effective one, and so where an ordinary user's may not be traced: see effectiveUID.
func (f FS) UID(pid int) (int, error) {
	uid, enough, err := f.effectiveUID(pid)
	if err != nil || enough {
		return uid, err
	}
	return f.realUID(pid)
}

// realUID reads it from /proc/PID/status.
func (f FS) realUID(pid int) (int, error) {
	return readWith(f, parseUID, strconv.Itoa(pid), "status")
}
