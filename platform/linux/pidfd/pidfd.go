// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package pidfd refers to processes by file descriptor (pidfd_open(2)).
//
// A PID may be reused as soon as the parent has collected the process that had it. A descriptor
// always refers to the same process.
package pidfd

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// An FD is an open process file descriptor.
type FD int

// Open opens the process with the PID. The error is unix.ESRCH if there is none, unix.ENOENT
// (unix.EINVAL before Linux 6.9) for a thread, and unix.ENOSYS before Linux 5.3.
func Open(pid int) (FD, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	return FD(fd), err
}

// Signal sends a signal; 0 only checks whether one could be sent. The error is unix.ESRCH once the
// parent has collected the process, and unix.EPERM if this user may not signal it. A process that
// has ended but was not collected accepts every signal.
func (f FD) Signal(s unix.Signal) error { return unix.PidfdSendSignal(int(f), s, nil, 0) }

var errNotWatched = errors.New("the kernel does not watch the process")

// Wait waits until every thread of the process has ended, whether or not its parent has collected
// it. It returns false if limit passes first.
func (f FD) Wait(limit time.Duration) (ended bool, err error) {
	deadline := time.Now().Add(limit)
	for {
		left := max(0, time.Until(deadline))
		fds := []unix.PollFd{{Fd: int32(f), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, milliseconds(left))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("poll: %w", err)
		case n > 0 && fds[0].Revents&unix.POLLIN == 0:
			return false, errNotWatched
		case n > 0:
			return true, nil
		case left == 0:
			return false, nil
		}
	}
}

// milliseconds rounds up, so that the end of a wait does not spin.
func milliseconds(d time.Duration) int { return int((d + time.Millisecond - 1) / time.Millisecond) }

// Collected waits until the parent of an ended process has collected it. It returns false if limit
// passes first. The kernel sends no notification of that before Linux 6.9, so it polls every half
// millisecond.
func (f FD) Collected(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for {
		if errors.Is(f.Signal(0), unix.ESRCH) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		pause := unix.NsecToTimespec(int64(500 * time.Microsecond))
		unix.Ppoll(nil, &pause, nil) //nolint:errcheck // it only passes the time
	}
}

// Close closes the descriptor.
func (f FD) Close() error { return unix.Close(int(f)) }
