// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package traceroute finds the routers that a packet goes through, with UDP and
// the error queue of its socket (ip(7), IP_RECVERR). It needs no privilege.
package traceroute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/traceroute"
	"sentinel/platform/linux/errqueue"
)

// firstPort is where a packet with one hop to go is sent; each further hop has
// the next port, by which its answer is known. traceroute(8) begins there too: nothing
// listens at those ports, and firewalls know them.
const firstPort = 33434

// pollStep is how often a wait looks at the context.
const pollStep = 50 * time.Millisecond

// A Prober sends packets over UDP that run out of hops on the way, and reads
// from its own error queue who said so (IP_RECVERR, ip(7)): no privilege is needed.
type Prober struct{}

var _ traceroute.Prober = Prober{}

// Probe implements [traceroute.Prober].
func (Prober) Probe(ctx context.Context, to netip.Addr, hops []int, wait time.Duration) ([]traceroute.Echo, error) {
	fd, err := errqueue.Socket(to, unix.SOCK_DGRAM)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is lost with it
	v := probeSet{fd: fd, to: to, hops: hops, sent: make([]time.Time, len(hops)), echoes: make([]traceroute.Echo, len(hops))}
	if err := v.send(); err != nil {
		return nil, err
	}
	return v.echoes, v.listen(ctx, wait)
}

// A probeSet is some packets under way.
type probeSet struct {
	fd     int
	to     netip.Addr
	hops   []int
	sent   []time.Time
	echoes []traceroute.Echo
	heard  int
}

func (v *probeSet) send() error {
	level, option := unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	if v.to.Is4() {
		level, option = unix.IPPROTO_IP, unix.IP_TTL
	}
	to := errqueue.NewDestination(v.to)
	for i, hop := range v.hops {
		if err := unix.SetsockoptInt(v.fd, level, option, hop); err != nil {
			return fmt.Errorf("set the number of hops: %w", err)
		}
		v.sent[i] = time.Now()
		if err := v.sendTo(to.Port(uint16(firstPort + hop - 1))); err != nil {
			return err
		}
	}
	return nil
}

// payload fills a packet of 60 bytes over IPv4, as traceroute(8) sends it.
var payload [32]byte

// sendTo tries again when the kernel reports the answer to an earlier packet in
// place of sending this one.
func (v *probeSet) sendTo(to unix.Sockaddr) error {
	const tries = 8
	var err error
	for range tries {
		if err = unix.Sendto(v.fd, payload[:], 0, to); err == nil {
			return nil
		}
		if v.drain() == 0 {
			break
		}
	}
	if errqueue.NoRoute(err) {
		return fmt.Errorf("%w (%w)", traceroute.ErrNoRoute, err)
	}
	return fmt.Errorf("send a packet: %w", err)
}

// listen takes answers until all are there or wait is over.
func (v *probeSet) listen(ctx context.Context, wait time.Duration) error {
	for end := time.Now().Add(wait); v.heard < len(v.hops); {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		set := []unix.PollFd{{Fd: int32(v.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(set, int(min(left, pollStep).Milliseconds())+1); err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for answers: %w", err)
		}
		v.drain()
	}
	return nil
}

// mostAtOnce bounds how many messages are taken before the clock is looked at:
// whoever floods the socket must not hold up the rest.
const mostAtOnce = 256

// drain takes the answers that are there, and returns how many messages it
// took.
func (v *probeSet) drain() int {
	now := time.Now()
	return v.errors(now) + v.replies(now)
}

func (v *probeSet) errors(now time.Time) (n int) {
	for ; n < mostAtOnce; n++ {
		e, err := errqueue.Read(v.fd)
		if err == nil {
			v.take(e.To, echoOf(e, v.to), now)
		} else if !errors.Is(err, errqueue.ErrNotICMP) { // that one is of this machine itself, which could not send
			break
		}
	}
	return n
}

// replies are data: a service answered, and so the target did.
func (v *probeSet) replies(now time.Time) (n int) {
	var data [1]byte
	for ; n < mostAtOnce; n++ {
		_, from, err := unix.Recvfrom(v.fd, data[:], unix.MSG_DONTWAIT)
		if err != nil {
			break
		}
		if a := errqueue.AddrPort(from); a.Addr() == v.to {
			v.take(a, traceroute.Echo{From: v.to, Reached: true}, now)
		}
	}
	return n
}

// take notes the first answer to the packet that was sent to a port.
func (v *probeSet) take(to netip.AddrPort, e traceroute.Echo, now time.Time) {
	for i, hop := range v.hops {
		if firstPort+hop-1 != int(to.Port()) || v.echoes[i].From.IsValid() || !e.From.IsValid() {
			continue
		}
		e.Took = now.Sub(v.sent[i])
		v.echoes[i] = e
		v.heard++
	}
}

// Types and codes of RFC 792 and RFC 4443.
const (
	unreachable4 = 3
	exceeded4    = 11
	unreachable6 = 1
	exceeded6    = 3
)

// echoOf says what an ICMP error means for a packet to a target.
func echoOf(e errqueue.Error, to netip.Addr) traceroute.Echo {
	echo := traceroute.Echo{From: e.From}
	if e.Type == exceeded4 && !e.V6 || e.Type == exceeded6 && e.V6 {
		return echo
	}
	if e.From == to {
		echo.Reached = true
		return echo
	}
	echo.Ended = ending(e)
	return echo
}

// ending names why a router let a packet go no further.
func ending(e errqueue.Error) string {
	if e.Type == unreachable4 && !e.V6 {
		switch e.Code {
		case 0, 6, 11:
			return "network unreachable"
		case 1, 7, 12:
			return "host unreachable"
		case 2, 3:
			return "port unreachable"
		case 9, 10, 13:
			return "forbidden by a firewall"
		}
	}
	if e.Type == unreachable6 && e.V6 {
		switch e.Code {
		case 0:
			return "network unreachable"
		case 1, 5, 6:
			return "forbidden by a firewall"
		case 3:
			return "host unreachable"
		case 4:
			return "port unreachable"
		}
	}
	return fmt.Sprintf("ICMP type %d code %d", e.Type, e.Code)
}
