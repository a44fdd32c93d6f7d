// SPDX-License-Identifier: Apache-2.0

package record

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns when a file was last written, or its times were set: a file can be made to look
// older than it is, but not by that time (inode(7), ctime).
func changed(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
