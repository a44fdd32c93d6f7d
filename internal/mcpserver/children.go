// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sentinel/internal/sysexec"
)

// maxSlotHold is how long a program that outlives its call keeps the call's
// slot. By then it was sent SIGKILL; what still runs is stuck in the kernel or must not be
// killed, and four of those must not block the server for good.
const maxSlotHold = sysexec.DefaultWaitDelay

// programs runs programs and counts those that have not ended. A cancelled call
// is answered while its program is still ending; the program keeps the call's slot, and the
// server does not exit before it. It is safe for concurrent use.
type programs struct {
	runner     sysexec.Runner
	killable   counter
	unkillable counter
}

var _ sysexec.Runner = (*programs)(nil)

// Run implements [sysexec.Runner].
func (p *programs) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	release, count := hold(ctx), &p.killable
	if c.NoKill {
		count = &p.unkillable
	}
	count.add(1)
	gone := make(chan struct{})
	c.OnEnd = func() {
		count.add(-1)
		release()
		close(gone)
	}
	r, err := p.runner.Run(ctx, c)
	select {
	case <-gone:
	default:
		time.AfterFunc(maxSlotHold, release)
	}
	return r, err
}

// finish waits, for at most the given time, until every program that may be
// killed has ended, because this process is what kills it. One that must not be killed ends by itself.
func (p *programs) finish(most time.Duration, log *slog.Logger) {
	wait(p.killable.idle(), most)
	if n := p.killable.value() + p.unkillable.value(); n > 0 {
		log.Warn("programs that were asked to end are still running", "programs", n)
	}
}

// A counter counts what is running. It is safe for concurrent use.
type counter struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed at zero, nil while nobody waits
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.n == 0 && c.zero != nil {
		close(c.zero)
		c.zero = nil
	}
}

func (c *counter) value() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// idle returns a channel that is closed when the count is zero.
func (c *counter) idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero == nil {
		c.zero = make(chan struct{})
	}
	zero := c.zero
	if c.n == 0 {
		close(c.zero)
		c.zero = nil
	}
	return zero
}

// slotKey is the key under which a context holds the slot of its call.
type slotKey struct{}

// A slot is one of the calls that may run at a time. It is free again when the
// call and all of its programs have released it.
type slot struct {
	holders atomic.Int32
	free    func()
}

// hold keeps the slot until release is called, which may be called again.
func (s *slot) hold() (release func()) {
	s.holders.Add(1)
	return sync.OnceFunc(func() {
		if s.holders.Add(-1) == 0 {
			s.free()
		}
	})
}

// hold keeps the slot of the call that ctx belongs to, if it has one.
func hold(ctx context.Context) (release func()) {
	if s, ok := ctx.Value(slotKey{}).(*slot); ok {
		return s.hold()
	}
	return func() {}
}

// placeKey is the key under which a context holds the place of its call.
type placeKey struct{}

// A place is where a call has a slot while it works, and none while it waits for a person. A nil
// place is that of a call without slots. It is not safe for concurrent use.
type place struct {
	slots     chan struct{} // from which it takes one
	elsewhere chan struct{} // of calls for other machines
	release   func()        // of the slot; nil without one
}

func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// enter waits for a slot and returns ctx with it. Without one the error is that of ctx.
func (p *place) enter(ctx context.Context) (context.Context, error) {
	if p == nil {
		return ctx, ctx.Err()
	}
	defer trackerOf(ctx).during("Waiting until another call has ended")()
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx, ctx.Err()
	}
	from := p.slots
	s := &slot{free: func() { <-from }}
	p.release = s.hold()
	return context.WithValue(context.WithValue(ctx, placeKey{}, p), slotKey{}, s), nil
}

// depart gives the slot back for one of calls for other machines: one that is silent holds up no call for
// this one.
func (p *place) depart(ctx context.Context) (context.Context, error) {
	if p == nil {
		return ctx, ctx.Err()
	}
	p.leave()
	p.slots = p.elsewhere
	return p.enter(ctx)
}

// leave gives the slot back, which programs of the call may still hold.
func (p *place) leave() {
	if p != nil && p.release != nil {
		p.release()
	}
}
