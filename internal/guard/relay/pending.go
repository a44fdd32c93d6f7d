// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// Bounds of a table. A client that has more calls open than that at once is out of control, and
// of those that were cancelled a late answer comes soon or never.
const (
	maxPending   = 1 << 16
	maxCancelled = 1 << 10
)

// An entry is a request that is not answered yet.
type entry struct {
	key       string // of its id
	call      stage.Call
	began     time.Time
	digest    uint64 // of what it asks for, to know its repetition; 0 where there can be none
	sent      bool   // it was passed on; before that nobody can answer it
	cancelled bool
	open      atomic.Bool        // the observer heard of it, and not yet of its end
	ended     atomic.Bool        // the stages know that nothing comes of it any more
	cancel    context.CancelFunc // of its judgement, while that waits; nil otherwise
}

// endless says that nobody waits for the end of the request.
func (e *entry) endless() bool { return e.call.Method == "subscriptions/listen" }

// pending are the requests of one side that are in flight, by the key of their id: its kind and
// its text, so that 1, 1.0 and "1" are three. It is safe for concurrent use.
type pending struct {
	mu        sync.Mutex
	entries   map[string]*entry
	cancelled []string // oldest first
	awaited   int      // entries for which somebody waits
	closed    bool     // nothing is taken any more: who would answer is gone
	ending    bool     // no more will come
	drained   chan struct{}
}

func newPending() *pending {
	return &pending{entries: map[string]*entry{}, drained: make(chan struct{})}
}

// What add says.
type added int

const (
	entered added = iota
	inUse
	full
	gone
)

func (p *pending) add(e *entry) added {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return gone
	case p.entries[e.key] != nil:
		return inUse
	case len(p.entries) >= maxPending:
		return full
	}
	p.entries[e.key] = e
	if !e.endless() {
		p.awaited++
	}
	return entered
}

// send marks a request as passed on. It is false when nobody waits for its answer any more.
func (p *pending) send(e *entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[e.key] != e {
		return false
	}
	e.sent = true
	return true
}

// take removes the request that an answer is for, nil when nobody asked.
func (p *pending) take(id jsonrpc.ID) *entry {
	var room [64]byte // most keys need no other
	key, ok := id.AppendKey(room[:0])
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[string(key)]
	if e == nil || !e.sent {
		return nil
	}
	p.remove(e)
	return e
}

// drop removes a request that gets its answer in another way, and says whether it was there: of
// two who would answer it one does.
func (p *pending) drop(e *entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[e.key] != e {
		return false
	}
	p.remove(e)
	return true
}

func (p *pending) remove(e *entry) {
	delete(p.entries, e.key)
	if !e.cancelled && !e.endless() {
		p.awaited--
		p.settle()
	}
}

// cancel notes that nobody waits for the answer to a request. One that was passed on may be
// answered all the same, and told is called with it; one that was not yet never will be.
func (p *pending) cancel(id jsonrpc.ID, told func(*entry)) {
	key, _ := id.Key()
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	if e == nil || e.cancelled {
		return
	}
	if e.cancel != nil {
		e.cancel()
	}
	if !e.sent {
		p.remove(e)
		return
	}
	defer p.withdraw(e)
	told(e)
}

// withdraw marks a request as one for whose answer nobody waits.
func (p *pending) withdraw(e *entry) {
	e.cancelled = true
	if !e.endless() {
		p.awaited--
		p.settle()
	}
	if p.cancelled = append(p.cancelled, e.key); len(p.cancelled) > maxCancelled {
		if old := p.cancelled[0]; p.entries[old] != nil && p.entries[old].cancelled {
			delete(p.entries, old)
		}
		p.cancelled = p.cancelled[1:]
	}
}

// awaits says that an answer is waited for.
func (p *pending) awaits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.awaited > 0
}

// only returns the id of the request that was passed on when there is but one, else nil.
func (p *pending) only() (id jsonrpc.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if !e.sent || e.cancelled {
			continue
		}
		if id != nil {
			return nil
		}
		id = e.call.ID
	}
	return id
}

// end says that no more requests come; drained is closed once all are answered.
func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ending {
		p.ending = true
		p.settle()
	}
}

func (p *pending) settle() {
	if !p.ending || p.awaited > 0 {
		return
	}
	select {
	case <-p.drained:
	default:
		close(p.drained)
	}
}

// close removes all requests and takes no more. It returns those that wait for an answer.
func (p *pending) close() (open []*entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, e := range p.entries {
		if !e.cancelled {
			open = append(open, e)
		}
		if e.cancel != nil {
			e.cancel()
		}
		p.remove(e)
	}
	return open
}

// holds notes how the judgement of a request is ended.
func (p *pending) holds(e *entry, cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.cancel = cancel
}
