// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserve fails with ENOSPC unless length bytes are free on the file system of f.
// Space could be preallocated (F_PREALLOCATE, fcntl(2)), but no document says that APFS keeps it
// when another program fills the volume. So the space was free at this moment, and no more is
// promised. It does nothing on a file system that does not report free space.
func reserve(f *os.File, _, length int64) error {
	for {
		var s unix.Statfs_t
		err := unix.Fstatfs(int(f.Fd()), &s)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil //nolint:nilerr // as documented above
		case s.Bavail < uint64(length)/uint64(s.Bsize)+1:
			return &os.PathError{Op: "reserve", Path: f.Name(), Err: syscall.ENOSPC}
		default:
			return nil
		}
	}
}
