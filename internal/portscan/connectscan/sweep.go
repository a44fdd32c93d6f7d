// SPDX-License-Identifier: Apache-2.0

package connectscan

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"sentinel/internal/portscan"
)

// exhaustedLimit is how long a scan goes on without a single connection under way
// because the system has nothing left for one.
const exhaustedLimit = 3 * time.Second

// A sweep is a scan in progress. One goroutine owns it; each connection has a
// goroutine of its own.
type sweep struct {
	dialer  Dialer
	job     portscan.Job
	window  window
	answers chan answer
	busy    int // connections under way

	done        int
	open        map[uint16]uint16 // with the local port of the connection
	closed      int
	filtered    int      // for which somebody answered
	unreachable int      // of them, those for which it may have been this machine
	absent      int      // of them, those for which it was said that the host does not answer
	silent      []uint16 // for which nobody answered
}

// An answer is the end of the connection to a port.
type answer struct {
	Attempt
	port uint16
	took time.Duration
}

func newSweep(d Dialer, job portscan.Job) *sweep {
	if job.Progress == nil {
		job.Progress = func(int) {}
	}
	return &sweep{
		dialer: d, job: job, answers: make(chan answer, maxWindow), open: map[uint16]uint16{},
		window: window{size: firstWindow, most: maxWindow, fastest: Timeout, grown: time.Now()},
	}
}

// run settles the given ports. It returns when no connection is left.
func (s *sweep) run(ctx context.Context, ports []uint16) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.drain()
	defer cancel()
	var exhausted time.Time    // since when nothing is under way and nothing can begin
	ports = slices.Clip(ports) // it is appended to
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for len(ports) > 0 || s.busy > 0 {
		for len(ports) > 0 && s.busy < s.window.size && (exhausted.IsZero() || s.busy == 0) {
			s.begin(ctx, ports[0])
			ports = ports[1:]
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
			s.window.grow(time.Now())
			continue
		case a := <-s.answers:
			s.busy--
			if a.Outcome == Aborted {
				return ctx.Err()
			}
			again, err := s.settle(a)
			if err != nil {
				return err
			}
			if !again {
				exhausted = time.Time{}
				continue
			}
			ports = append(ports, a.port)
			if exhausted, err = s.shrink(ctx, exhausted, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain waits for the connections under way, whose context has ended.
func (s *sweep) drain() {
	for ; s.busy > 0; s.busy-- {
		<-s.answers
	}
}

// shrink narrows the window to as many connections as the system allows. When it
// allows none, shrink waits a little, and fails after [exhaustedLimit].
func (s *sweep) shrink(ctx context.Context, exhausted time.Time, a answer) (time.Time, error) {
	s.window.size = max(1, min(s.window.size, s.busy))
	if s.busy > 0 {
		return exhausted, nil
	}
	now := time.Now()
	if exhausted.IsZero() {
		exhausted = now
	}
	if now.Sub(exhausted) > exhaustedLimit {
		return exhausted, fmt.Errorf("open a connection: %w", errno(a.Err))
	}
	select {
	case <-ctx.Done():
		return exhausted, ctx.Err()
	case <-time.After(tick):
		return exhausted, nil
	}
}

func (s *sweep) begin(ctx context.Context, port uint16) {
	s.busy++
	go func() {
		began := time.Now()
		a := s.dialer.Dial(ctx, netip.AddrPortFrom(s.job.Address, port))
		s.answers <- answer{a, port, time.Since(began)}
	}()
}

// settle counts the port of a connection. again means that the port is still to
// be asked.
func (s *sweep) settle(a answer) (again bool, err error) {
	switch a.Outcome {
	case Exhausted:
		return true, nil
	case NoRoute:
		return false, noRoute(a.Err)
	case Unreachable:
		if err := s.unreachableError(a.Err); err != nil {
			return false, err
		}
		s.filtered++
	case Absent:
		s.filtered++
		s.absent++
	case Open:
		s.open[a.port] = a.Local
	case Closed:
		s.closed++
	case Silent:
		s.silent = append(s.silent, a.port)
	default:
		s.filtered++
	}
	if a.Outcome != Silent {
		s.window.answered(a.took, time.Now())
	}
	s.done++
	s.job.Progress(min(s.done, len(s.job.Ports)))
	return false, nil
}

// unreachableError reports whether an [Unreachable] ends the scan. ENETUNREACH does
// unless there was an answer before; EHOSTUNREACH may come from a firewall nearby
// and concern one port, so it ends the scan once all ports are like that.
func (s *sweep) unreachableError(err error) error {
	s.unreachable++
	if errno(err) == syscall.ENETUNREACH && s.done == 0 || s.unreachable == len(s.job.Ports) {
		s.filtered = 0
		return noRoute(err)
	}
	return nil
}
