// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"golang.org/x/sys/unix"
)

// changed returns when a file was last written, or its times were set: a file can be made to look
// older than it is, but not by that time (inode(7), ctime; stat(2) of macOS, st_ctimespec).
func changed(path string) (time.Time, error) {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return time.Time{}, err
	}
	return time.Unix(s.Ctim.Unix()), nil
}
