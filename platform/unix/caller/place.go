// SPDX-License-Identifier: Apache-2.0

//go:build unix

package caller

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// ErrFull means that a user has no place left.
var ErrFull = errors.New("all places are taken")

// Place takes one of the places that a user has for runs of root, and returns its number, from 0 on. What
// has a place is a byte of the file at path, which the kernel unlocks when this process ends
// (fcntl_locking(2)): on Linux, when the last of its threads does that has the file open, as one that waits for a
// file system that does not answer and keeps the memory of the process. Nothing unlocks it before. The error is
// ErrFull, or another one where places cannot be counted.
func Place(path string, uid, places int) (number int, err error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	for number := range places {
		own := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: int64(uid)*int64(places) + int64(number), Len: 1}
		err = unix.FcntlFlock(uintptr(fd), setLock, &own)
		if err == nil {
			return number, nil // the descriptor stays open, which keeps the lock
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			break
		}
		err = ErrFull
	}
	unix.Close(fd) //nolint:errcheck // nothing was written
	return 0, err
}
