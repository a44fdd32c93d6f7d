// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package portscan connects to ports for a scan, and describes the machine that it runs on. It
// needs no privilege.
package portscan

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/portscan/connectscan"
	"sentinel/platform/linux/errqueue"
)

// A Dialer connects with system calls of its own, to see the ICMP errors that the
// kernel keeps for a socket: "port unreachable" comes from a firewall, so the host has not
// refused the connection, and an error of this machine itself counts at once.
type Dialer struct{}

var _ connectscan.Dialer = Dialer{}

// Dial implements [connectscan.Dialer]. An address of this machine answers before the first connect(2)
// returns, so the second one follows at once.
func (Dialer) Dial(ctx context.Context, to netip.AddrPort) connectscan.Attempt {
	if err := ctx.Err(); err != nil {
		return connectscan.Attempt{Outcome: connectscan.Aborted, Err: err}
	}
	fd, err := errqueue.Socket(to.Addr(), unix.SOCK_STREAM)
	if err != nil {
		return noSocket(err)
	}
	address := errqueue.NewDestination(to.Addr()).Port(to.Port())
	first := unix.Connect(fd, address)
	err = first
	if first == unix.EINPROGRESS {
		err = unix.Connect(fd, address)
	}
	if pending(err) {
		return wait(ctx, fd, address)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is lost with it
	// The first call fails for want of a route. Later, the same error comes from a router.
	if errqueue.NoRoute(first) {
		return connectscan.Attempt{Outcome: connectscan.NoRoute, Err: first}
	}
	return attempt(fd, err)
}

// noSocket explains why there is no socket: a system without IPv6 cannot create one.
func noSocket(err error) connectscan.Attempt {
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return connectscan.Attempt{Outcome: connectscan.NoRoute, Err: err}
	}
	return connectscan.Attempt{Outcome: connectscan.Exhausted, Err: err}
}

func pending(err error) bool {
	return errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EALREADY)
}

// wait waits for the end of a connection, and closes the socket. An ICMP error of
// this machine arrives while the socket is locked: the kernel only queues it, and goes on trying.
func wait(ctx context.Context, fd int, address unix.Sockaddr) connectscan.Attempt {
	socket := os.NewFile(uintptr(fd), "connection")
	defer socket.Close() //nolint:errcheck // nothing is lost with it
	raw, err := socket.SyscallConn()
	if err == nil {
		err = socket.SetWriteDeadline(time.Now().Add(connectscan.Timeout))
	}
	if err != nil { // nothing left to watch it with
		return connectscan.Attempt{Outcome: connectscan.Exhausted, Err: err}
	}
	stop := context.AfterFunc(ctx, func() { socket.SetWriteDeadline(time.Unix(1, 0)) }) //nolint:errcheck // then it was closed
	defer stop()
	var got connectscan.Attempt
	err = raw.Write(func(uintptr) (done bool) {
		switch err := unix.Connect(fd, address); {
		case !pending(err):
			got = attempt(fd, err)
		case answered(fd, &got):
		default:
			return false
		}
		return true
	})
	switch {
	case err == nil:
		return got
	case ctx.Err() != nil:
		return connectscan.Attempt{Outcome: connectscan.Aborted, Err: ctx.Err()}
	default:
		return connectscan.Attempt{Outcome: connectscan.Silent, Err: err}
	}
}

// attempt reads what connect(2) says of a connection that has ended.
func attempt(fd int, err error) connectscan.Attempt {
	n, _ := err.(syscall.Errno) //nolint:errorlint // of a system call, nil included
	o, _ := connectscan.OutcomeOf(n)
	switch o {
	case connectscan.Open:
		local := localPort(fd)
		// A reset costs no local port for the next minute (TIME-WAIT).
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) //nolint:errcheck // then it does cost one
		return connectscan.Attempt{Outcome: o, Local: local}
	case connectscan.Closed, connectscan.Rejected:
		got := connectscan.Attempt{Outcome: o, Err: err}
		answered(fd, &got)
		return got
	default:
		return connectscan.Attempt{Outcome: o, Err: err}
	}
}

// answered reports whether an ICMP error has arrived for a connection, and what it makes of it.
func answered(fd int, got *connectscan.Attempt) bool {
	e, err := errqueue.Read(fd)
	if err != nil {
		return false
	}
	*got = connectscan.Attempt{Outcome: connectscan.Rejected}
	if unreachableHost(e) && e.From != e.To.Addr().Unmap() {
		got.Outcome = connectscan.Absent
	}
	return true
}

// unreachableHost recognises what a router says of a host that it cannot reach, and this machine of
// one that does not answer on its own network (RFC 1122, section 3.2.2.1; RFC 4443, section 3.1).
func unreachableHost(e errqueue.Error) bool {
	const unreachable, network, host, unreachable6, route6, address6 = 3, 0, 1, 1, 0, 3
	if e.V6 {
		return e.Type == unreachable6 && (e.Code == route6 || e.Code == address6)
	}
	return e.Type == unreachable && (e.Code == network || e.Code == host)
}

// localPort returns 0 if the connection no longer exists.
func localPort(fd int) uint16 {
	local, err := unix.Getsockname(fd)
	if err != nil {
		return 0
	}
	return errqueue.AddrPort(local).Port()
}
