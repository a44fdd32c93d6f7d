// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// A dialer opens one connection, tells the local port of it, and hangs up.
type dialer interface {
	dial(ctx context.Context, to netip.AddrPort) (local uint16, err error)
}

// live dials for real.
type live struct{}

func (live) dial(ctx context.Context, to netip.AddrPort) (uint16, error) {
	d := net.Dialer{Timeout: patience, KeepAlive: -1}
	conn, err := d.DialTCP(ctx, "tcp", netip.AddrPort{}, to)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // the connection is of no further use
	// A reset costs no local port for the next minute (TIME-WAIT).
	conn.SetLinger(0) //nolint:errcheck // it was reset from the other end, then
	local, _ := conn.LocalAddr().(*net.TCPAddr)
	if local == nil {
		return 0, nil
	}
	return uint16(local.Port), nil
}

// A fate is what became of a connection.
type fate int

const (
	open     fate = iota
	closed        // the host said no
	refused       // somebody else answered for it
	barred        // the same, or this machine did
	silent        // nobody answered
	unsent        // this machine knows no way
	starving      // this machine has nothing left to connect with
	aborted       // the scan has ended
)

// fateOf reads an error of connect(2). quick says that it came so fast that
// only this machine can have said so.
func fateOf(ctx context.Context, err error, quick bool) fate {
	if err == nil {
		return open
	}
	switch number(err) {
	case syscall.ECONNREFUSED:
		return closed
	case syscall.EISCONN, syscall.ECONNRESET, syscall.EPIPE:
		return open // it came about before it ended
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EAGAIN:
		return starving
	case syscall.ENETDOWN, syscall.EINVAL: // the last for an address that needs a zone
		return unsent
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH:
		// macOS says the latter at once for a host that has not answered lately, and for
		// every host of the local network where its owner has not allowed the program that.
		if quick {
			return barred
		}
		return refused
	case syscall.ETIMEDOUT:
		return silent
	}
	switch {
	case ctx.Err() != nil:
		return aborted
	case timedOut(err):
		return silent
	default:
		return refused
	}
}

func timedOut(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// number returns what a system call said, 0 when it was none.
func number(err error) syscall.Errno {
	n, _ := errors.AsType[syscall.Errno](err)
	return n
}
