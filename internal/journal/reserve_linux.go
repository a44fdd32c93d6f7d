// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve allocates length bytes on disk at offset without growing the file
// (fallocate(2)). It does nothing on a file system that cannot.
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
