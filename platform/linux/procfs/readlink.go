// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readlinkat reads the link whose name is the decimal number n and rest, in dir. It is unix.Readlinkat
// without the conversion of the name to a new string: this call is made once for every open file on the machine
// and is most of the cost of finding the owners of sockets. The kernel may wait for the process: see [FS.Processes].
// rest is at most 10 bytes long.
func readlinkat(dir, n int, rest string, buf []byte) (int, error) {
	name := pathOf(n, rest)
	length, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(dir),
		uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0) //nolint:gosec // arguments of a system call
	switch errno {
	case 0:
		return int(length), nil
	case unix.ENAMETOOLONG:
		held, err := remembered(dir, strconv.Itoa(n)+rest)
		return copy(buf, tooLong(held)), err
	default:
		return 0, errno
	}
}
