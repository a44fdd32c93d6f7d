// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sockdiag

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoUnix says that the kernel tells nothing of Unix sockets (CONFIG_UNIX_DIAG).
var ErrNoUnix = errors.New("the kernel does not tell who is connected with whom over Unix sockets")

// Bounds of asking with [Unix], in one pass: users have as many sockets as they like, and each question goes over all.
const (
	MaxUnix  = 1024
	UnixTime = 2 * time.Second
)

// Unix asks for single sockets of the caller's network namespace, by their inodes, and calls visit for those that are
// connected streams. For each the kernel goes over all Unix sockets of the namespace, which takes milliseconds where
// there are tens of thousands.
func Unix(ctx context.Context, inodes []uint64, visit func(UnixSocket)) error {
	if len(inodes) == 0 {
		return nil
	}
	fd, err := open()
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written that could be lost
	if err := tellsOfUnix(fd); err != nil {
		return err
	}
	for _, inode := range inodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, known, err := askUnix(fd, inode)
		if err != nil {
			return err
		}
		if known {
			visit(s)
		}
	}
	return nil
}

// tellsOfUnix asks for a socket that is there: the kernel has the same answer for one that is not, and for a kernel
// that knows no such question.
func tellsOfUnix(fd int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a Unix socket: %w", err)
	}
	defer unix.Close(pair[0]) //nolint:errcheck // nothing was written that could be lost
	defer unix.Close(pair[1]) //nolint:errcheck // nothing was written that could be lost
	var about unix.Stat_t
	if err := unix.Fstat(pair[0], &about); err != nil {
		return fmt.Errorf("look at a Unix socket: %w", err)
	}
	_, known, err := askUnix(fd, about.Ino)
	if err == nil && !known {
		return ErrNoUnix
	}
	return err
}

// askUnix asks for one socket.
func askUnix(fd int, inode uint64) (s UnixSocket, known bool, err error) {
	if inode > math.MaxUint32 { // the kernel has 32 bits for it
		return s, false, nil
	}
	if err := unix.Sendto(fd, unixRequest(uint32(inode)), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return s, false, fmt.Errorf("ask sock_diag: %w", err)
	}
	buf := make([]byte, unixReplySize)
	n, err := receive(fd, buf)
	if err != nil {
		return s, false, err
	}
	s, known, err = parseUnix(buf[:n])
	if code, ok := errors.AsType[kernelError](err); ok {
		if unix.Errno(code) == unix.ENOENT {
			return UnixSocket{}, false, nil
		}
		return UnixSocket{}, false, fmt.Errorf("sock_diag refuses: %w", unix.Errno(code))
	}
	return s, known && s.Inode == inode, err
}

// unixReplySize holds a reply with the longest name (108 bytes), and one that repeats the question with an error.
const unixReplySize = 1 << 10
