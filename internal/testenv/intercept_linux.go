// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Intercept runs something on a thread whose system calls of one kind wait for fails (seccomp_unotify(2)),
// which gets how many there were before. The call has the error that fails returns, or is made after all
// for 0. What runs must not end the test.
func Intercept(t testing.TB, call uint32, fails func(n int) unix.Errno, run func()) {
	t.Helper()
	ran := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // which ends with the goroutine, and the filter with it
		listener, err := listen(call)
		if err == nil {
			go answer(listener, fails)
			run()
		}
		ran <- err
	}()
	err := <-ran
	Need(t, err == nil, "Linux 5.5, and the right to make filters of system calls")
}

// listen has the thread ask before each system call of one kind.
func listen(call uint32) (listener int, err error) {
	filter := []unix.SockFilter{ // over struct seccomp_data, which begins with the number of the call
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// answer tells the thread what becomes of its calls until it ends.
func answer(listener int, fails func(n int) unix.Errno) {
	defer unix.Close(listener)
	for n := 0; ; {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || ready[0].Revents&unix.POLLIN == 0 {
			return
		}
		var asked [80]byte // struct seccomp_notif, which begins with an id
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&asked))); errno != 0 {
			continue
		}
		var said [24]byte // struct seccomp_notif_resp: the id, a value, an error, flags
		copy(said[:], asked[:8])
		if err := fails(n); err != 0 {
			binary.NativeEndian.PutUint32(said[16:], -uint32(err))
		} else {
			binary.NativeEndian.PutUint32(said[20:], unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
		}
		n++
		unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&said)))
	}
}
