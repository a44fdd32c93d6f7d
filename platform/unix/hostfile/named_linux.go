// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openNamed opens a file without the links of /proc (openat2(2), Linux 5.6). Kernels and filters of system
// calls that do not know it follow them; no user could mount such a file system before Linux 5.11.
func openNamed(path string, flags int) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC | unix.O_LARGEFILE, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return unix.Open(path, int(how.Flags), 0)
	}
	return fd, err
}

// look is os.Stat, or os.Lstat, of what [openNamed] opens.
func look(path string, follow bool) (fs.FileInfo, error) {
	flags := unix.O_PATH
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := openNamed(path, flags)
	if err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() //nolint:errcheck // only looked at
	return f.Stat()
}
