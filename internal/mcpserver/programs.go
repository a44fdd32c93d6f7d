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

// holdLimit is how long a program that outlives its call keeps the call's
// slot. By then it was sent SIGKILL; what lives on is stuck in the kernel or was spared, and
// four of those must not stop the server for good.
const holdLimit = sysexec.DefaultWaitDelay

// programs runs programs and knows which of them are not gone yet. A call that
// is cancelled is answered while its program still ends; the program keeps the slot of
// its call, and the server does not exit before it. It is safe for concurrent use.
type programs struct {
	runner   sysexec.Runner
	killable counter
	spared   counter
}

var _ sysexec.Runner = (*programs)(nil)

// Run implements [sysexec.Runner].
func (p *programs) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	free, count := hold(ctx), &p.killable
	if c.NoKill {
		count = &p.spared
	}
	count.add(1)
	gone := make(chan struct{})
	c.OnEnd = func() {
		count.add(-1)
		free()
		close(gone)
	}
	r, err := p.runner.Run(ctx, c)
	select {
	case <-gone:
	default:
		time.AfterFunc(holdLimit, free)
	}
	return r, err
}

// finish waits until every program that may be killed is gone, or most is
// over: the one that kills it is this process. One that is spared the kill ends by
// itself, or does not.
func (p *programs) finish(most time.Duration, log *slog.Logger) {
	wait(p.killable.idle(), most)
	if n := p.killable.value() + p.spared.value(); n > 0 {
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

// leaseKey is the key under which a context holds the lease of its call.
type leaseKey struct{}

// A lease is the slot of one call. It is given back when the call and all of
// its programs have let it go.
type lease struct {
	holders atomic.Int32
	free    func()
}

// hold takes part in the lease until the returned function is called, which
// may happen more than once.
func (l *lease) hold() (free func()) {
	l.holders.Add(1)
	return sync.OnceFunc(func() {
		if l.holders.Add(-1) == 0 {
			l.free()
		}
	})
}

// hold takes part in the lease of the call that ctx belongs to, if it has one.
func hold(ctx context.Context) (free func()) {
	if l, ok := ctx.Value(leaseKey{}).(*lease); ok {
		return l.hold()
	}
	return func() {}
}
