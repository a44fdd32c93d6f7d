// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserve makes sure that length bytes are free on the file system of f, and
// fails with ENOSPC where they are not. Room behind the end of a file could be set aside
// (F_PREALLOCATE, fcntl(2)), but nothing says that APFS keeps it when another program fills the
// volume, so all that is promised is that there was room at this moment. A file system that does
// not tell has no such promise to give.
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
