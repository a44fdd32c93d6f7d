// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// Opened reports whether the file is open: a descriptor with O_PATH only names one, for which nobody needs any right
// on the file (open(2)). The link in /proc tells what reads or writes (proc_pid_fd(5)). About any other, such as one that
// was opened for ioctl(2) alone, the kernel is asked, and it is not open where that is not told: who only names a file
// can make the answer take long.
func (f OpenFile) Opened() bool {
	if f.Registered() {
		return true
	}
	path, err := f.from.fs.Path(f.PID, f.Name())
	if err != nil {
		return false
	}
	var link unix.Stat_t
	if err := unix.Lstat(path, &link); err != nil {
		return false // it is closed by now
	}
	return link.Mode&(unix.S_IRUSR|unix.S_IWUSR) != 0 || opens(f.About())
}

// opens reads from what the kernel tells of a descriptor whether it does more than name a file; its flags are octal
// (proc_pid_fdinfo(5)).
func opens(about []byte) bool {
	for line := range bytes.Lines(about) {
		if digits, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 8, 64)
			return err == nil && flags&unix.O_PATH == 0
		}
	}
	return false
}
