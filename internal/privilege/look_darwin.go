// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"syscall"
	"unsafe"
)

// System calls of xnu (bsd/kern/syscalls.master), which pthread_setugid_np(3) and gettid use.
const (
	sysSettid = 285
	sysGettid = 286
)

// noUser ends the identity of a thread (KAUTH_UID_NONE in bsd/sys/kauth.h).
const noUser = ^uint32(0) - 100

// takeOn changes the thread alone. Its groups are those that the directory knows of the user.
func takeOn(who Identity) (back func() error, err error) {
	if err := settid(uint32(who.UID), uint32(who.GID)); err != nil {
		return nil, err
	}
	back = func() error { return settid(noUser, noUser) }
	var uid, gid uint32
	_, _, errno := syscall.Syscall(sysGettid, uintptr(unsafe.Pointer(&uid)), uintptr(unsafe.Pointer(&gid)), 0) //nolint:staticcheck,gosec // see settid; the kernel fills both in
	if errno != 0 {
		return back, errno
	}
	if int(uid) != who.UID || int(gid) != who.GID {
		return back, errNotDone
	}
	return back, nil
}

func settid(uid, gid uint32) error {
	if _, _, errno := syscall.Syscall(sysSettid, uintptr(uid), uintptr(gid), 0); errno != 0 { //nolint:staticcheck // there is no other way to it without cgo
		return errno
	}
	return nil
}
