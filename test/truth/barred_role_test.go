// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// playBarred becomes the program of its arguments, with sock_diag forbidden as
// by the system call filter of a strict container: socket(2) for
// NETLINK_SOCK_DIAG fails with EPERM.
func playBarred(*bufio.Scanner, io.Writer) error {
	runtime.LockOSThread() // a filter belongs to the thread
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := barSockDiag()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("install the filter: %w", err)
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}

// barSockDiag is the filter over struct seccomp_data: the number of the call at
// offset 0, the low halves of its arguments from offset 16 on, 8 bytes apart, on a
// machine with the low half first.
func barSockDiag() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	// unless jumps over what follows when the loaded word is another one.
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
	}
	answer := func(verdict uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
	}
	return []unix.SockFilter{
		load(0), unless(unix.SYS_SOCKET, 5),
		load(16), unless(unix.AF_NETLINK, 3),
		load(16 + 2*8), unless(unix.NETLINK_SOCK_DIAG, 1),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
		answer(unix.SECCOMP_RET_ALLOW),
	}
}
