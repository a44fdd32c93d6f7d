// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"sentinel/internal/portscan"
)

const (
	// patience is how long a port may take to answer. The kernel sends the first
	// packet again after a second (RFC 6298 section 2), so that one lost packet never hides
	// an open port.
	patience = 2200 * time.Millisecond
	// resent is how old an answer is that only the second packet can have got.
	resent = 950 * time.Millisecond
	// quick is how soon an answer comes that no packet was sent for.
	quick = 20 * time.Millisecond
	// calm is how long no packet may have been lost until the window grows again.
	// macOS, asked about itself, loses most: it refuses 250 connections a second and leaves
	// the others to be sent again (net.inet.icmp.icmplim).
	calm = 1200 * time.Millisecond
	// starved is how long a scan goes on without a single connection under way
	// because the system has none to give.
	starved = 3 * time.Second
)

const (
	firstWindow = 128  // connections under way at first
	smallWindow = 64   // and at least on a network that loses packets
	maxWindow   = 4096 // and at most
	// ramp is how often the window doubles while no packet was seen to be lost.
	ramp = 10 * time.Millisecond
)

// A sweep is a scan under way. One goroutine holds it; each connection has a
// goroutine of its own.
type sweep struct {
	dialer  dialer
	job     portscan.Job
	pace    pace
	answers chan reply
	busy    int // connections under way

	done     int
	open     map[uint16]uint16 // with the local port of the connection
	closed   int
	filtered int      // for which somebody answered
	barred   int      // of them, those for which this machine itself did
	silent   []uint16 // for which nobody did
}

// A reply is the end of one connection.
type reply struct {
	port, local uint16
	fate        fate
	took        time.Duration
	err         error
}

func newSweep(d dialer, job portscan.Job) *sweep {
	if job.Progress == nil {
		job.Progress = func(int) {}
	}
	return &sweep{
		dialer: d, job: job, answers: make(chan reply, maxWindow), open: map[uint16]uint16{},
		pace: pace{window: firstWindow, most: maxWindow, fastest: patience, grown: time.Now()},
	}
}

// run settles the given ports. It returns when no connection is under way.
func (s *sweep) run(ctx context.Context, ports []uint16) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.drain()
	defer cancel()
	dry := time.Time{}         // since when nothing is under way and nothing can begin
	ports = slices.Clip(ports) // it is appended to
	ticks := time.NewTicker(ramp)
	defer ticks.Stop()
	for len(ports) > 0 || s.busy > 0 {
		for len(ports) > 0 && s.busy < s.pace.window && (dry.IsZero() || s.busy == 0) {
			s.begin(ctx, ports[0])
			ports = ports[1:]
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
			s.pace.grow(time.Now())
			continue
		case r := <-s.answers:
			s.busy--
			if r.fate == aborted {
				return ctx.Err()
			}
			again, err := s.settle(r)
			if err != nil {
				return err
			}
			if !again {
				dry = time.Time{}
				continue
			}
			ports = append(ports, r.port)
			if dry, err = s.starve(ctx, dry, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain waits for connections that have nothing to wait for any more.
func (s *sweep) drain() {
	for ; s.busy > 0; s.busy-- {
		<-s.answers
	}
}

// starve goes on with as many connections as the system has shown to have. With
// none it waits a little, and not for ever.
func (s *sweep) starve(ctx context.Context, dry time.Time, r reply) (time.Time, error) {
	s.pace.window = max(1, min(s.pace.window, s.busy))
	if s.busy > 0 {
		return dry, nil
	}
	now := time.Now()
	if dry.IsZero() {
		dry = now
	}
	if now.Sub(dry) > starved {
		return dry, fmt.Errorf("open a connection: %w", number(r.err))
	}
	select {
	case <-ctx.Done():
		return dry, ctx.Err()
	case <-time.After(ramp):
		return dry, nil
	}
}

func (s *sweep) begin(ctx context.Context, port uint16) {
	s.busy++
	began := time.Now()
	go func() {
		local, err := s.dialer.dial(ctx, netip.AddrPortFrom(s.job.Address, port))
		took := time.Since(began)
		s.answers <- reply{port, local, fateOf(ctx, err, took < quick), took, err}
	}()
}

// settle counts the port of a connection. again means that the port is still to
// be asked.
func (s *sweep) settle(r reply) (again bool, err error) {
	switch r.fate {
	case open:
		s.open[r.port] = r.local
	case closed:
		s.closed++
	case refused:
		s.filtered++
	case barred:
		if r.err = s.barrier(r.err); r.err != nil {
			return false, r.err
		}
		s.filtered++
	case silent:
		s.silent = append(s.silent, r.port)
	case starving:
		return true, nil
	case unsent:
		return false, describe(r.err)
	}
	if r.fate != silent {
		s.pace.clock(r.took, time.Now())
	}
	s.done++
	s.job.Progress(min(s.done, len(s.job.Ports)))
	return false, nil
}

// barrier tells what an answer that came too soon for any packet means. That no
// way leads to the network ends the scan unless somebody has been reached before; that none
// leads to the host may be what a near firewall says of one port, and counts once all
// ports are like that.
func (s *sweep) barrier(err error) error {
	s.barred++
	if number(err) == syscall.ENETUNREACH && s.done == 0 || s.barred == len(s.job.Ports) {
		s.filtered = 0
		return describe(err)
	}
	return nil
}

// A pace is how many connections may be under way.
type pace struct {
	window, most int
	grown        time.Time     // when the window was widened last
	slowed       time.Time     // when it was narrowed last, for a lost packet
	late         int           // answers that came to the second packet
	fastest      time.Duration // answer so far
}

// clock learns from the time that an answer took.
func (p *pace) clock(took time.Duration, now time.Time) {
	p.fastest = min(p.fastest, took)
	if took <= resent || p.fastest > resent {
		return
	}
	p.late++
	if now.Sub(p.slowed) > resent { // one loss, of however many packets
		p.slowed = now
		p.window = max(min(smallWindow, p.most), p.window/2)
	}
}

// grow widens the window, carefully once a packet was lost.
func (p *pace) grow(now time.Time) {
	if now.Sub(p.grown) < ramp || p.late > 0 && now.Sub(p.slowed) < calm {
		return
	}
	p.grown = now
	step := p.window
	if p.late > 0 {
		step = min(step, smallWindow/4)
	}
	p.window = min(p.window+step, p.most)
}
