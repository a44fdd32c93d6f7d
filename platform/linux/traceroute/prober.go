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

// firstPort is the destination of a packet that may go one hop. Each further hop
// has the next port, which tells what packet an answer is for. traceroute(8) begins there
// too: nothing listens at those ports, and firewalls know them.
const firstPort = 33434

// pollInterval is how often the context is checked while waiting.
const pollInterval = 50 * time.Millisecond

// A Prober sends UDP packets that run out of hops on the way, and reads the ICMP
// errors of the routers from the error queue of its socket (IP_RECVERR, ip(7)).
type Prober struct{}

var _ traceroute.Prober = Prober{}

// Probe implements [traceroute.Prober].
func (Prober) Probe(ctx context.Context, to netip.Addr, hops []int, wait time.Duration) ([]traceroute.Response, error) {
	fd, err := errqueue.Socket(to, unix.SOCK_DGRAM)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is lost with it
	s := probeSet{fd: fd, to: to, hops: hops, sent: make([]time.Time, len(hops)), responses: make([]traceroute.Response, len(hops))}
	if err := s.send(); err != nil {
		return nil, err
	}
	return s.responses, s.collect(ctx, wait)
}

// A probeSet is packets that were sent together.
type probeSet struct {
	fd        int
	to        netip.Addr
	hops      []int
	sent      []time.Time
	responses []traceroute.Response
	answered  int
}

func (s *probeSet) send() error {
	level, option := unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	if s.to.Is4() {
		level, option = unix.IPPROTO_IP, unix.IP_TTL
	}
	to := errqueue.NewDestination(s.to)
	for i, hop := range s.hops {
		if err := unix.SetsockoptInt(s.fd, level, option, hop); err != nil {
			return fmt.Errorf("set the number of hops: %w", err)
		}
		s.sent[i] = time.Now()
		if err := s.sendTo(to.Port(uint16(firstPort + hop - 1))); err != nil {
			return err
		}
	}
	return nil
}

// payload fills a packet of 60 bytes over IPv4, as traceroute(8) sends it.
var payload [32]byte

// sendTo tries again when the kernel reports the answer to an earlier packet
// instead of sending this one.
func (s *probeSet) sendTo(to unix.Sockaddr) error {
	const tries = 8
	var err error
	for range tries {
		if err = unix.Sendto(s.fd, payload[:], 0, to); err == nil {
			return nil
		}
		if s.drain() == 0 {
			break
		}
	}
	if errqueue.NoRoute(err) {
		return fmt.Errorf("%w (%w)", traceroute.ErrNoRoute, err)
	}
	return fmt.Errorf("send a packet: %w", err)
}

// collect reads answers until all are there or wait is over.
func (s *probeSet) collect(ctx context.Context, wait time.Duration) error {
	for end := time.Now().Add(wait); s.answered < len(s.hops); {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		set := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(set, int(min(left, pollInterval).Milliseconds())+1); err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for answers: %w", err)
		}
		s.drain()
	}
	return nil
}

// maxDrained bounds how many messages are read before the clock is checked: a
// flood of answers must not prolong the wait.
const maxDrained = 256

// drain reads the answers that have come, and returns how many messages it read.
func (s *probeSet) drain() int {
	now := time.Now()
	return s.errors(now) + s.replies(now)
}

func (s *probeSet) errors(now time.Time) (n int) {
	for ; n < maxDrained; n++ {
		e, err := errqueue.Read(s.fd)
		if err == nil {
			s.record(e.To, responseTo(e, s.to), now)
		} else if !errors.Is(err, errqueue.ErrNotICMP) { // that one is an error of this machine, which could not send
			break
		}
	}
	return n
}

// replies reads data: a service answered, so the packet reached the target.
func (s *probeSet) replies(now time.Time) (n int) {
	var data [1]byte
	for ; n < maxDrained; n++ {
		_, from, err := unix.Recvfrom(s.fd, data[:], unix.MSG_DONTWAIT)
		if err != nil {
			break
		}
		if a := errqueue.AddrPort(from); a.Addr() == s.to {
			s.record(a, traceroute.Response{From: s.to, Reached: true}, now)
		}
	}
	return n
}

// record keeps the first answer to the packet that was sent to a port.
func (s *probeSet) record(to netip.AddrPort, e traceroute.Response, now time.Time) {
	for i, hop := range s.hops {
		if firstPort+hop-1 != int(to.Port()) || s.responses[i].From.IsValid() || !e.From.IsValid() {
			continue
		}
		e.RTT = now.Sub(s.sent[i])
		s.responses[i] = e
		s.answered++
	}
}

// Types and codes of RFC 792 and RFC 4443.
const (
	unreachable4 = 3
	exceeded4    = 11
	unreachable6 = 1
	exceeded6    = 3
)

// responseTo says what an ICMP error means for a packet to a target.
func responseTo(e errqueue.Error, to netip.Addr) traceroute.Response {
	r := traceroute.Response{From: e.From}
	if e.Type == exceeded4 && !e.V6 || e.Type == exceeded6 && e.V6 {
		return r
	}
	if e.From == to {
		r.Reached = true
		return r
	}
	r.Rejected = rejection(e)
	return r
}

// rejection says why a router did not forward a packet.
func rejection(e errqueue.Error) string {
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
