// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Held is a file that a process holds: its program, or one that it has open.
type Held struct {
	Mode     uint32 // st_mode of inode(7)
	UID      uint32
	Links    uint32 // names that lead to it
	Device   uint64
	Inode    uint64
	Blocks   uint64 // of 512 bytes
	Modified time.Time
}

// StatHeld returns what the kernel remembers of the file behind /proc/PID/exe or /proc/PID/fd/N. The
// server of its file system is not asked (AT_STATX_DONT_SYNC of statx(2)): whoever mounts one below an
// overlay in a user namespace of their own has root ask it, and a thread that it does not answer can
// not be ended, nor can its process.
func StatHeld(path string) (Held, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &s); err != nil {
		return Held{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	return Held{
		Mode: uint32(s.Mode), UID: s.Uid, Links: s.Nlink, Device: unix.Mkdev(s.Dev_major, s.Dev_minor), Inode: s.Ino, Blocks: s.Blocks,
		Modified: time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)),
	}, nil
}

// Is says whether a file is the one that is held.
func (h Held) Is(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(s.Dev) == h.Device && s.Ino == h.Inode
}

// Lent says that who runs the file gets rights of another user.
func (h Held) Lent() bool { return h.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 }

// ownedAlone says that nobody but owner may write to the file.
func (h Held) ownedAlone(owner int) bool { return int(h.UID) == owner && h.Mode&0o022 == 0 }
