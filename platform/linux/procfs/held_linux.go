// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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
