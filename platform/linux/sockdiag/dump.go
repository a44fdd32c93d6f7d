// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sockdiag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// bufferSize holds many replies; the kernel fills datagrams up to 32 KiB.
const bufferSize = 64 << 10

// replyLimit bounds the wait for one datagram. The kernel answers at once; the limit is for a
// filter that drops the reply.
const replyLimit = 2 * time.Second

// Dump calls visit for every TCP (protocol IPPROTO_TCP) or UDP (IPPROTO_UDP)
// socket of both address families in the caller's network namespace. The list is
// not a snapshot: sockets that open or close meanwhile may or may not be in it.
func Dump(ctx context.Context, protocol uint8, visit func(Socket)) error {
	return dump(ctx, protocol, 0, visit)
}

// DumpTraffic is [Dump] for TCP, with the traffic of each connection.
func DumpTraffic(ctx context.Context, visit func(Socket)) error {
	return dump(ctx, unix.IPPROTO_TCP, 1<<(attributeInfo-1), visit)
}

func dump(ctx context.Context, protocol, attributes uint8, visit func(Socket)) error {
	fd, err := open()
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written that could be lost
	buf := make([]byte, bufferSize)
	for _, family := range []uint8{familyInet, familyInet6} {
		if err := answers(ctx, fd, request(family, protocol, attributes), buf, eachSocket(visit)); err != nil {
			return err
		}
	}
	return nil
}

// A family is one that a kernel may not tell of, and that users have as many sockets of as they like.
type family struct {
	ask             []byte
	limit           time.Duration
	untold, tooMany error
}

// read hands over what the kernel tells of each socket. It fails with untold and, after limit, with tooMany.
func (f family) read(ctx context.Context, visit func([]byte) error) error {
	fd, err := open()
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written that could be lost
	limited, cancel := context.WithTimeoutCause(ctx, f.limit, f.tooMany)
	defer cancel()
	err = answers(limited, fd, f.ask, make([]byte, bufferSize), visit)
	switch {
	case errors.Is(err, unix.ENOENT):
		return f.untold
	case err != nil && limited.Err() != nil:
		return context.Cause(limited)
	}
	return err
}

// open makes a socket to ask by.
func open() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return -1, fmt.Errorf("open sock_diag: %w", err)
	}
	limit := unix.NsecToTimeval(replyLimit.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		unix.Close(fd) //nolint:errcheck // nothing was written that could be lost
		return -1, fmt.Errorf("open sock_diag: %w", err)
	}
	return fd, nil
}

// answers asks for a list and hands over what each message of the answer tells of a socket.
func answers(ctx context.Context, fd int, ask, buf []byte, visit func([]byte) error) error {
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("ask sock_diag: %w", err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := receive(fd, buf)
		if err != nil {
			return err
		}
		done, err := parseReplies(buf[:n], visit)
		if code, ok := errors.AsType[kernelError](err); ok {
			return fmt.Errorf("sock_diag refuses: %w", unix.Errno(code))
		}
		if done || err != nil {
			return err
		}
	}
}

// receive reads one datagram and makes sure that it came from the kernel
// (port 0): any process may send to a netlink socket.
func receive(fd int, buf []byte) (int, error) {
	for {
		n, _, flags, from, err := unix.Recvmsg(fd, buf, nil, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read sock_diag: %w", err)
		}
		if flags&unix.MSG_TRUNC != 0 {
			return 0, ErrFormat
		}
		if peer, ok := from.(*unix.SockaddrNetlink); ok && peer.Pid == 0 {
			return n, nil
		}
	}
}
