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

// readAtOnce is readFile for a file that the kernel makes without waiting for anything, as it does
// /proc/PID/stat (do_task_stat, fs/proc/array.c), but not what takes the lock of an address space. The
// runtime is not told of its system calls: of thousands in a row, that costs a tenth, most of it
// because it takes the processor from a thread that is in one and hands it to another.
func (d dirHandle) readAtOnce(pid int, name string, buf []byte) ([]byte, error) {
	path := pathOf(pid, name)
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(d),
		uintptr(unsafe.Pointer(&path[0])), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0) //nolint:gosec // arguments of a system call
	if errno != 0 {
		return nil, errno
	}
	n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf))) //nolint:gosec // as above
	unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)                                                              //nolint:errcheck // only read from
	if errno != 0 {
		return nil, errno
	}
	return buf[:n], nil
}
