// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// takeOn changes the thread alone (setfsuid(2), credentials(7)). Without capabilities in effect the
// links in /proc do not lead to files of others either. What it returns takes root's rights back.
func takeOn(who Identity) (back func() error, err error) {
	groups, err := unix.Getgroups()
	if err != nil {
		return nil, err
	}
	own := Identity{EffectiveUID(), syscall.Getegid(), groups}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var full [2]unix.CapUserData
	if err := unix.Capget(&header, &full[0]); err != nil {
		return nil, err
	}
	back = func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		return errors.Join(unix.Capset(&header, &full[0]), own.ofThread())
	}
	if err := who.ofThread(); err != nil {
		return back, err
	}
	without := full
	without[0].Effective, without[1].Effective = 0, 0
	return back, unix.Capset(&header, &without[0])
}

// ofThread gives the thread, and no other, the rights to files of a user. The calls of package unix are
// those of the kernel, which know threads alone.
func (who Identity) ofThread() error {
	if err := unix.Setgroups(who.Groups); err != nil {
		return err
	}
	if err := errors.Join(syscall.Setfsgid(who.GID), syscall.Setfsuid(who.UID)); err != nil {
		return err
	}
	// An id that does not exist changes nothing, and tells what is.
	uid, err := unix.SetfsuidRetUid(-1)
	gid, groupErr := unix.SetfsgidRetGid(-1)
	if err := errors.Join(err, groupErr); err != nil {
		return err
	}
	if uid != who.UID || gid != who.GID {
		return errNotDone
	}
	return nil
}
