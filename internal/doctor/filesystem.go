// SPDX-License-Identifier: Apache-2.0

package doctor

import "golang.org/x/sys/unix"

// readOnlyFlag is ST_RDONLY of statfs(2) and MNT_RDONLY of macOS.
const readOnlyFlag = 1

// fileSystem returns how many bytes of the file system of path are free for an
// ordinary user, and whether it is mounted read-only.
func fileSystem(path string) (free uint64, readOnly bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, false, err
	}
	return s.Bavail * uint64(s.Bsize), s.Flags&readOnlyFlag != 0, nil
}
