// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve takes length bytes on disk at offset without making the file longer,
// fallocate(2). A file system that cannot has no such promise to give.
func reserve(f *os.File, offset, length int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, length)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return nil
		default:
			return err
		}
	}
}
