// SPDX-License-Identifier: Apache-2.0

package connectscan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Timeout is how long connecting may take. The kernel sends the first packet again
// after a second (RFC 6298 section 2), so that one lost packet never hides an open
// port.
const Timeout = 2200 * time.Millisecond

// A Dialer opens one connection, closes it at once, and reports what became of it.
// It gives up after [Timeout] and when ctx ends. It is safe for concurrent use.
type Dialer interface {
	Dial(ctx context.Context, to netip.AddrPort) Attempt
}

// An Attempt is what became of one connection.
type Attempt struct {
	Outcome Outcome
	Local   uint16 // local port of a connection that came about, 0 when unknown
	Err     error  // of the system; set for NoRoute, Unreachable and Exhausted
}

// An Outcome says what an attempt tells about the port.
type Outcome int

// The outcomes.
const (
	Open        Outcome = iota
	Closed              // the host refused the connection
	Rejected            // a firewall or router answered in place of the host
	Absent              // this machine or a router answered that the host does not
	Unreachable         // Rejected, or this machine knows no route: not to be told apart
	Silent              // nobody answered
	NoRoute             // this machine knows no route to the address
	Exhausted           // this machine has no file, memory or local port for a connection
	Aborted             // ctx has ended
)

// OutcomeOf reads an error of connect(2) that means the same whenever it comes; ok
// is false for any other.
func OutcomeOf(n syscall.Errno) (o Outcome, ok bool) {
	switch n {
	case 0, syscall.EISCONN, syscall.ECONNRESET, syscall.EPIPE:
		return Open, true // the last two: it came about before it ended
	case syscall.ECONNREFUSED:
		return Closed, true
	case syscall.ETIMEDOUT:
		return Silent, true
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EAGAIN:
		return Exhausted, true
	case syscall.ENETDOWN, syscall.EINVAL: // the last for an address that needs a zone
		return NoRoute, true
	default:
		return Rejected, false
	}
}

// A NetDialer connects as the net package does, on any system. It does not see the
// ICMP errors behind the end of a connection.
type NetDialer struct{}

var _ Dialer = NetDialer{}

// Dial implements [Dialer].
func (NetDialer) Dial(ctx context.Context, to netip.AddrPort) Attempt {
	began := time.Now()
	d := net.Dialer{Timeout: Timeout, KeepAlive: -1}
	conn, err := d.DialTCP(ctx, "tcp", netip.AddrPort{}, to)
	if err != nil {
		return failed(ctx, err, time.Since(began))
	}
	defer conn.Close() //nolint:errcheck // the connection is of no further use
	// A reset costs no local port for the next minute (TIME-WAIT).
	conn.SetLinger(0) //nolint:errcheck // it was reset from the other end, then
	local, _ := conn.LocalAddr().(*net.TCPAddr)
	if local == nil {
		return Attempt{Outcome: Open}
	}
	return Attempt{Outcome: Open, Local: uint16(local.Port)}
}

// instant is how soon an error comes when no packet was sent.
const instant = 20 * time.Millisecond

// failed reads an error of the net package that came after some time.
func failed(ctx context.Context, err error, took time.Duration) Attempt {
	n := errno(err)
	o, ok := OutcomeOf(n)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case n != 0 && ok:
		return Attempt{Outcome: o, Err: err}
	// macOS returns EHOSTUNREACH at once for a host that has not answered lately, and
	// for every host of the local network while its user has not allowed the program to
	// reach it.
	case (n == syscall.ENETUNREACH || n == syscall.EHOSTUNREACH) && took < instant:
		return Attempt{Outcome: Unreachable, Err: err}
	case ctx.Err() != nil:
		return Attempt{Outcome: Aborted, Err: err}
	case n == syscall.EHOSTDOWN || n == syscall.EHOSTUNREACH:
		return Attempt{Outcome: Absent, Err: err}
	case isNet && timeout.Timeout():
		return Attempt{Outcome: Silent, Err: err}
	default:
		return Attempt{Outcome: Rejected, Err: err}
	}
}

// errno returns what a system call said, 0 when it was none.
func errno(err error) syscall.Errno {
	n, _ := errors.AsType[syscall.Errno](err)
	return n
}
