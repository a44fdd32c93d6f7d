// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
)

// mountsOf says in whose mount namespace a process is whose program is not where its path leads to here.
//
// Any user makes one, in a user namespace of his own. Those of root's are what containers and services
// have; but programs that lend root's rights make them for users, too (bwrap and firejail where they have
// the set-user-ID bit, pam_namespace(8)): so in the session of a user they count as the user's.
func (s *Source) mountsOf(c processes.Claim) processes.Mounts {
	switch {
	case !s.differs(c.PID, "mnt"):
		return processes.MountsHere
	case !s.madeByRoot(c.PID), c.UserID != 0 && s.inSession(c.PID):
		return processes.MountsOfUser
	case s.differs(c.PID, "pid"):
		return processes.MountsOfContainer
	default:
		return processes.MountsOfService
	}
}

// canHaveMounted reports that the mount which a program is in may be its user's: no mount of root's hides
// anything from root.
func (s *Source) canHaveMounted(c processes.Claim) bool {
	return s.root == "/" && c.UserID != 0 && s.mountsOf(c) <= processes.MountsOfUser
}

// differs reports that a process is in another namespace of a kind than process 1, or than this run
// where that cannot be seen.
func (s *Source) differs(pid int, kind string) bool {
	own, err := s.proc.Link(pid, "ns/"+kind)
	if err != nil {
		return false
	}
	first, err := s.proc.Link(1, "ns/"+kind)
	if err != nil {
		first, err = os.Readlink("/proc/self/ns/" + kind)
	}
	return err == nil && own != first
}

// inSession reports a control group below those of users (systemd.special(7)), which no user leaves.
func (s *Source) inSession(pid int) bool {
	group, err := s.proc.ControlGroup(pid)
	return err == nil && strings.HasPrefix(group, "/user.slice/")
}

// madeByRoot reports that the mount namespace of a process belongs to the user namespace of this run, or
// to one that root made (ioctl_ns(2), Linux 4.9 and 4.11). A user in a namespace cannot make one that
// belongs to another than his own. Where the kernel does not tell, the user namespace that the process
// is in now counts.
func (s *Source) madeByRoot(pid int) bool {
	mounts, err := s.proc.Open(pid, "ns/mnt")
	if err != nil {
		return false
	}
	defer mounts.Close() //nolint:errcheck // only asked
	users, err := unix.IoctlRetInt(int(mounts.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return !s.differs(pid, "user")
	}
	defer unix.Close(users) //nolint:errcheck // only asked
	if isOwn(users) {
		return true
	}
	owner, err := unix.IoctlGetUint32(users, unix.NS_GET_OWNER_UID)
	return err == nil && owner == 0
}

// isOwn reports whether a descriptor is of the user namespace of this run.
func isOwn(users int) bool {
	var it, own unix.Stat_t
	return unix.Fstat(users, &it) == nil && unix.Stat("/proc/self/ns/user", &own) == nil && it.Ino == own.Ino && it.Dev == own.Dev
}
