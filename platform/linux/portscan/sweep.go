// SPDX-License-Identifier: Apache-2.0

//go:build linux

package portscan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/portscan"
	"sentinel/platform/linux/errqueue"
)

// starved is how long a scan goes on without a single connection under way
// because the system has none to give.
const starved = 3 * time.Second

// A sweep is a scan under way, on one thread: one system call settles a closed
// port of this machine, and waiting needs none per port.
type sweep struct {
	job    portscan.Job
	to     *errqueue.Destination
	epoll  int
	events [256]unix.EpollEvent
	slots  []slot
	idle   []int // slots that nothing is under way in
	oldest queue // slots in the order in which they began
	busy   int   // connections under way

	window, most int           // connections that may be under way now, and ever
	grown        time.Time     // when the window was widened last
	slowed       time.Time     // when it was narrowed last, for a lost packet
	late         int           // answers that came to the second packet
	fastest      time.Duration // answer so far

	done     int
	open     map[uint16]uint16 // with the local port of the connection
	closed   int
	filtered int      // for which somebody answered
	silent   []uint16 // for which nobody did
}

// A slot is a socket, used for one port after the other as long as they are
// closed.
type slot struct {
	fd      int // -1 when there is none
	port    uint16
	busy    bool
	watched bool // by epoll
	turn    int  // tells the connections of a slot apart
	began   time.Time
}

func newSweep(job portscan.Job, most int) (*sweep, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch connections: %w", err)
	}
	if job.Progress == nil {
		job.Progress = func(int) {}
	}
	return &sweep{
		job: job, to: errqueue.NewDestination(job.Address), epoll: epoll, open: map[uint16]uint16{},
		window: min(firstWindow, most), most: most, fastest: patience,
	}, nil
}

func (s *sweep) close() {
	for i := range s.slots {
		s.hangUp(i)
	}
	unix.Close(s.epoll) //nolint:errcheck // nothing is lost with it
}

// run settles the given ports.
func (s *sweep) run(ctx context.Context, ports []uint16) error {
	dry := time.Time{} // since when nothing is under way and nothing can begin
	s.grown = time.Now()
	for next := 0; next < len(ports) || s.busy > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		began, err := s.begin(ports[next:])
		next += began
		switch {
		case err != nil && !scarce(err):
			return describe(err)
		case err == nil || s.busy > 0 || began > 0:
			dry = time.Time{}
		case dry.IsZero():
			dry = time.Now()
		case time.Since(dry) > starved:
			return fmt.Errorf("open a connection: %w", err)
		}
		if err := s.wait(next < len(ports) && err == nil); err != nil {
			return err
		}
		s.job.Progress(min(s.done, len(s.job.Ports)))
	}
	return nil
}

// batch is how many ports begin before the sweep looks at the clock, the
// context and what was answered.
const batch = 256

// begin starts connections as far as the window allows, and returns how many
// ports it took.
func (s *sweep) begin(ports []uint16) (int, error) {
	now := time.Now()
	for n, port := range ports[:min(batch, len(ports))] {
		if s.busy >= s.window {
			return n, nil
		}
		i, err := s.free()
		if err == nil {
			err = s.connect(i, port, now)
		}
		if err != nil {
			s.window = max(1, min(s.window, s.busy))
			return n, err
		}
	}
	return min(batch, len(ports)), nil
}

// free returns a slot with a socket that is not in use.
func (s *sweep) free() (int, error) {
	if n := len(s.idle); n > 0 {
		i := s.idle[n-1]
		if s.slots[i].fd >= 0 {
			s.idle = s.idle[:n-1]
			return i, nil
		}
	}
	fd, err := s.socket()
	if err != nil {
		return 0, err
	}
	if n := len(s.idle); n > 0 {
		i := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.slots[i].fd = fd
		return i, nil
	}
	s.slots = append(s.slots, slot{fd: fd})
	return len(s.slots) - 1, nil
}

// socket returns one that resets its connection when it is closed, so that an
// open port costs no local port for the next minute (TIME-WAIT).
func (s *sweep) socket() (int, error) {
	fd, err := errqueue.Socket(s.job.Address, unix.SOCK_STREAM)
	if err != nil {
		return -1, err
	}
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// connect begins one connection. On this machine the answer is there before the
// call returns, so it is asked for at once. An error means that the port is still to be
// asked.
func (s *sweep) connect(i int, port uint16, now time.Time) error {
	c := &s.slots[i]
	c.port, c.busy, c.began = port, true, now
	c.turn++
	s.busy++
	err := unix.Connect(c.fd, s.to.Port(port))
	if scarce(err) || errqueue.NoRoute(err) {
		s.release(i, true)
		return err
	}
	if err == unix.EINPROGRESS && s.job.Local {
		err = unix.Connect(c.fd, s.to.Port(port))
	}
	switch number(err) {
	case unix.EINPROGRESS, unix.EALREADY:
		s.oldest.push(turn{i, c.turn})
		return s.watch(i)
	default:
		s.settle(i, err)
		return nil
	}
}

// watch lets epoll tell when the connection of a slot ends. A socket stays
// watched until it is closed. EpollEvent.Fd carries what the caller likes.
func (s *sweep) watch(i int) error {
	c := &s.slots[i]
	if c.watched {
		return nil
	}
	event := unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLET, Fd: int32(i)}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		s.release(i, true)
		return err
	}
	c.watched = true
	return nil
}

// wait takes what was answered, and waits for it unless there is more to begin.
func (s *sweep) wait(more bool) error {
	limit := int(ramp / time.Millisecond)
	if more && s.busy < s.window {
		limit = 0
	}
	n := 0
	if s.busy > 0 || limit > 0 {
		var err error
		if n, err = unix.EpollWait(s.epoll, s.events[:], limit); err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for connections: %w", err)
		}
	}
	now := time.Now()
	for _, event := range s.events[:max(0, n)] {
		s.answered(int(event.Fd), event.Events&unix.EPOLLERR != 0, now)
	}
	s.expire(now)
	s.grow(now)
	return nil
}

// answered looks at a connection that epoll has news of.
func (s *sweep) answered(i int, failed bool, now time.Time) {
	c := &s.slots[i]
	if !c.busy {
		return
	}
	err := unix.Connect(c.fd, s.to.Port(c.port))
	if err == unix.EALREADY || err == unix.EINPROGRESS {
		// On this machine an ICMP error arrives while the socket is locked: it is
		// queued, and the kernel tries again.
		if failed && s.unreachable(c.fd) {
			s.refuse(i)
		}
		return
	}
	s.clock(now.Sub(c.began), now)
	s.settle(i, err)
}

// clock learns from the time that an answer took.
func (s *sweep) clock(took time.Duration, now time.Time) {
	s.fastest = min(s.fastest, took)
	if took <= resent || s.fastest > resent {
		return
	}
	s.late++
	if now.Sub(s.slowed) > resent { // one loss, of however many packets
		s.slowed = now
		s.window = max(min(smallWindow, s.most), s.window/2)
	}
}

// settle counts the port of a slot by what connect(2) says of it. A connection
// that was reset after it came about was one.
func (s *sweep) settle(i int, err error) {
	c := &s.slots[i]
	switch number(err) {
	case 0, unix.EISCONN, unix.ECONNRESET, unix.EPIPE:
		s.open[c.port] = s.localPort(c.fd)
		s.done++
		s.release(i, true)
	case unix.ECONNREFUSED:
		if s.unreachable(c.fd) { // some firewalls say "port unreachable" for TCP
			s.refuse(i)
			return
		}
		s.closed++
		s.done++
		s.release(i, false)
	case unix.ETIMEDOUT:
		s.silent = append(s.silent, c.port)
		s.done++
		s.release(i, true)
	default:
		s.refuse(i)
	}
}

// refuse counts a port that somebody answered for in place of the host.
func (s *sweep) refuse(i int) {
	s.filtered++
	s.done++
	s.release(i, true)
}

// unreachable says whether an ICMP error ended the connection.
func (s *sweep) unreachable(fd int) bool {
	_, err := errqueue.Read(fd)
	return err == nil
}

// localPort returns 0 for a connection that has gone.
func (s *sweep) localPort(fd int) uint16 {
	local, err := unix.Getsockname(fd)
	if err != nil {
		return 0
	}
	return errqueue.AddrPort(local).Port()
}

// release makes a slot idle. Only the socket of a closed port can be used
// again.
func (s *sweep) release(i int, hangUp bool) {
	s.slots[i].busy = false
	s.busy--
	if hangUp {
		s.hangUp(i)
	}
	s.idle = append(s.idle, i)
}

func (s *sweep) hangUp(i int) {
	if c := &s.slots[i]; c.fd >= 0 {
		unix.Close(c.fd) //nolint:errcheck // the connection is of no further use
		c.fd, c.watched = -1, false
	}
}

// expire gives up the connections that nobody answered in time. They began in
// the order of the queue.
func (s *sweep) expire(now time.Time) {
	for {
		t, ok := s.oldest.first()
		if !ok {
			return
		}
		c := &s.slots[t.slot]
		current := c.busy && c.turn == t.turn
		if current && now.Sub(c.began) < patience {
			return
		}
		s.oldest.pop()
		if current {
			s.settle(t.slot, unix.ETIMEDOUT)
		}
	}
}

// grow widens the window, carefully once a packet was lost.
func (s *sweep) grow(now time.Time) {
	if now.Sub(s.grown) < ramp {
		return
	}
	s.grown = now
	step := s.window
	if s.late > 0 {
		step = min(step, smallWindow/4)
	}
	s.window = min(s.window+step, s.most)
}

// A turn is one connection of a slot.
type turn struct{ slot, turn int }

// A queue holds turns, first in, first out.
type queue struct {
	list []turn
	head int
}

func (q *queue) push(t turn) { q.list = append(q.list, t) }

func (q *queue) first() (turn, bool) {
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
		return turn{}, false
	}
	return q.list[q.head], true
}

func (q *queue) pop() { q.head++ }
