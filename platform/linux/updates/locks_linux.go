// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"os"

	"golang.org/x/sys/unix"

	"sentinel/platform/unix/hostfile"
)

// isLocked asks the kernel whether a lock on a file is in the way of who would read from it (fcntl(2)): dpkg, apt
// and rpm take one for writing. Nobody else can add to what the kernel looks at.
func isLocked(path string) (bool, error) {
	f, err := hostfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // only read from
	lock := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, &os.PathError{Op: "fcntl", Path: path, Err: err}
	}
	return lock.Type != unix.F_UNLCK, nil
}
