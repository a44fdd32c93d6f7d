// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
)

// A wait is why a system call returns only later.
type wait struct {
	calls []int
	words string
	file  bool // the first argument is the descriptor that it waits for
}

// waits are the calls in which processes wait, as far as every architecture has them; see also
// oldWaits.
var waits = []wait{
	{[]int{unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_RECVFROM, unix.SYS_RECVMSG}, "waits to read from", true},
	{[]int{unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_SENDTO, unix.SYS_SENDMSG}, "waits to write to", true},
	{[]int{unix.SYS_ACCEPT, unix.SYS_ACCEPT4}, "waits for somebody to connect to", true},
	{[]int{unix.SYS_CONNECT}, "waits for an answer to its connection on", true},
	{[]int{unix.SYS_FSYNC, unix.SYS_FDATASYNC}, "waits until the disk has taken", true},
	{[]int{unix.SYS_FLOCK, unix.SYS_FCNTL}, "waits for somebody else's lock on", true},
	{[]int{unix.SYS_FUTEX}, "waits for another thread or process: a lock, or work to do", false},
	{[]int{unix.SYS_EPOLL_PWAIT, unix.SYS_PPOLL, unix.SYS_PSELECT6}, "waits for something to happen on its files and sockets, which is how servers idle", false},
	{[]int{unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP}, "sleeps for a time that it chose", false},
	{[]int{unix.SYS_WAIT4, unix.SYS_WAITID}, "waits for a child to end", false},
	{[]int{unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_RT_SIGSUSPEND}, "waits for a signal", false},
	{[]int{unix.SYS_IO_GETEVENTS, unix.SYS_IO_URING_ENTER}, "waits for reads and writes that it has handed over", false},
	{[]int{unix.SYS_MSGRCV, unix.SYS_SEMTIMEDOP, unix.SYS_SEMOP}, "waits for another process: a message or a semaphore", false},
	{[]int{unix.SYS_OPENAT}, "waits for a file to open, as where a file system does not answer", false},
}

// waitIn finds the words for a system call.
func waitIn(number int) (wait, bool) {
	for _, list := range [][]wait{waits, oldWaits} {
		for _, w := range list {
			if slices.Contains(w.calls, number) {
				return w, true
			}
		}
	}
	return wait{}, false
}

// waits says in words what the first thread waits for, or the one that is looked at in its place, and which other thread cannot be interrupted.
func (r *reading) waits() {
	switch r.stat.State {
	case 'R':
		r.o.WaitsFor = "nothing: it runs, or waits for a processor"
		return
	case 'Z', 'X':
		if r.stat.Headless {
			return
		}
		r.o.WaitsFor = "its parent, which has to collect it"
		if len(r.o.Ancestry) > 0 {
			r.o.WaitsFor = "its parent " + processes.KinText(r.o.Ancestry[0]) + ", which has to collect it"
		}
		return
	case 'T', 't':
		r.o.WaitsFor = "a signal to continue (SIGCONT), or its debugger"
		return
	}
	if r.o.Claim.Kernel {
		r.o.WaitsFor = "work of the kernel"
		return
	}
	r.o.WaitsFor = r.called() + r.stuckThreads()
}

// called describes the system call of the first thread.
func (r *reading) called() string {
	channel, _ := r.proc.WaitChannel(r.pid, r.task) //nolint:errcheck // needs root, and is an addition
	in := ""
	if channel != "" && len(channel) < 64 {
		in = " (in " + channel + " of the kernel)"
	}
	call, err := r.proc.SystemCall(r.task)
	if err != nil {
		r.lacks("waits_for", err)
		return strings.TrimPrefix(in, " ")
	}
	w, known := waitIn(call.Number)
	switch {
	case call.Running:
		return "nothing: it runs"
	case !known && r.stat.State == 'D':
		return "waits for a device or a file system" + in
	case !known:
		return fmt.Sprintf("waits in system call %d", call.Number) + in
	case w.file:
		return w.words + " " + r.target(int(call.First)) + in
	default:
		return w.words + in
	}
}

// target describes a descriptor.
func (r *reading) target(fd int) string {
	link, err := r.proc.Link(r.task, fmt.Sprintf("fd/%d", fd))
	if err != nil {
		return fmt.Sprintf("descriptor %d", fd)
	}
	switch {
	case strings.HasPrefix(link, "socket:"):
		return fmt.Sprintf("a socket (descriptor %d)", fd)
	case strings.HasPrefix(link, "pipe:"):
		return fmt.Sprintf("a pipe (descriptor %d)", fd)
	case strings.HasPrefix(link, "/dev/pts/"), strings.HasPrefix(link, "/dev/tty"):
		return "its terminal"
	default:
		return fmt.Sprintf("a file (descriptor %d, see open_files)", fd)
	}
}

// stuckThreads names threads that no signal reaches, besides the first.
func (r *reading) stuckThreads() string {
	threads, err := r.proc.Threads(r.pid)
	if err != nil {
		return ""
	}
	stuck := 0
	for _, t := range threads {
		if t.State == 'D' && t.PID != r.task {
			stuck++
		}
	}
	if stuck == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of its %d threads cannot be interrupted", stuck, len(threads))
}
