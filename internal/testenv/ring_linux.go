// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Register registers an open file of this process with an io_uring, which lasts as long as the test, and closes its
// descriptor. Where the kernel has no io_uring or refuses it, the test is skipped.
func Register(t testing.TB, fd int) {
	t.Helper()
	var params [120]byte // struct io_uring_params
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	Need(t, errno == 0, "io_uring: "+errno.Error())
	t.Cleanup(func() { unix.Close(int(ring)) })
	const files = 2 // IORING_REGISTER_FILES
	slots := [1]int32{int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, ring, files, uintptr(unsafe.Pointer(&slots)), 1, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
}
