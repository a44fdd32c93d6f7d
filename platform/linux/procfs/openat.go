// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openat opens the file pid+name below the directory dir. It is unix.Openat without allocating two
// strings for the name: this call is made for every process, twice in half a second. name is at
// most 20 bytes long.
func openat(dir, pid int, name string, flags int) (int, error) {
	path := pathOf(pid, name)
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir),
		uintptr(unsafe.Pointer(&path[0])), uintptr(flags|unix.O_CLOEXEC), 0, 0, 0) //nolint:gosec // arguments of a system call
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// pathOf is pid+name as C has it.
func pathOf(pid int, name string) (path [32]byte) {
	digits := strconv.AppendInt(path[:0], int64(pid), 10)
	copy(path[len(digits):len(path)-1], name) // the array keeps its final NUL
	return path
}
