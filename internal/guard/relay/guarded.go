// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"slices"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
	"sentinel/internal/sanitize"
)

// An item is a message while it is handled, with what has to be made good should the guard fail at
// it.
type item struct {
	*jsonrpc.Message
	known   stage.Message // what stages and observer are shown
	asked   *entry        // that the request has made
	dropped bool          // asked is not in flight any more, and the sender is still to be answered
	answers *entry        // that the answer has taken out of those in flight
	done    bool          // what was decided about it is done
}

// answered notes which request an answer is for.
func (m *item) answered(e *entry) *entry {
	m.answers = e
	return e
}

// A handling is that of one line.
type handling struct {
	line  []byte
	items []item
	one   [1]item // room for those of a line that is no batch
}

func (h *handling) of(messages []jsonrpc.Message) {
	if h.items = h.one[:]; len(messages) != 1 {
		h.items = make([]item, len(messages))
	}
	for i := range messages {
		h.items[i].Message = &messages[i]
	}
}

// A panicError is a panic of the guard.
type panicError struct{ cause string }

func newPanicError(cause any) *panicError { return &panicError{fmt.Sprint("panic: ", cause)} }

func (e *panicError) Error() string { return e.cause }

// quietly calls do, and notes a panic of it, which it returns.
func (r *Relay) quietly(do func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicError(cause)
			defer func() { recover() }() //nolint:errcheck // it may be the one that notes which panics
			r.options.Note("panic", "The guard failed: "+sanitize.Text(err.Error(), 200))
		}
	}()
	do()
	return nil
}

// handled handles one line. What it panics at does not pass, and is answered if somebody waits.
func (p *pump) handled(line []byte, items []item, handle func(*handling)) {
	h := &handling{line: line, items: items}
	defer func() {
		if cause := recover(); cause != nil {
			p.relay.quietly(func() { p.abandon(h, newPanicError(cause)) }) //nolint:errcheck // it is noted
		}
	}()
	handle(h)
}

// abandon refuses what a line has that nothing was done about yet.
func (p *pump) abandon(h *handling, cause error) {
	if h.items == nil {
		h.of([]jsonrpc.Message{jsonrpc.ParseHead(h.line, h.line[max(0, len(h.line)-512):])})
	}
	for i := range h.items {
		if m := &h.items[i]; !m.done {
			p.apply(nil, h.items[i:i+1], p.failed(m, cause))
		}
	}
}

// guarded makes of a panic at one message the decision that refuses it.
func (p *pump) guarded(m *item, handle func() decision) (d decision) {
	defer func() {
		if cause := recover(); cause != nil {
			d = p.failed(m, newPanicError(cause))
		}
	}()
	return handle()
}

// failed refuses a message that the guard failed at, wherever that was: who waits for it is
// answered, and nothing of it stays in flight.
func (p *pump) failed(m *item, cause error) decision {
	if id := m.answerTo(); m.answers == nil && id != nil {
		m.answers = p.due.take(id)
	}
	switch {
	case m.answers != nil:
		r := p.failure(m.Message, &m.answers.call, cause)
		p.forget(p.from.Other(), m.answers, stage.Unreadable)
		return decision{instead: r.Answer(m.answers.call.ID, m.answers.call.Method)}
	case m.asked != nil:
		waits := m.dropped || p.asked.drop(m.asked)
		p.forget(p.from, m.asked, stage.Refused)
		if !waits { // it was cancelled, or answered when the server went
			return decision{}
		}
		return decision{back: p.failure(m.Message, &m.asked.call, cause).Answer(m.asked.call.ID, m.asked.call.Method)}
	}
	r := p.failure(m.Message, nil, cause)
	if m.Request() || m.Fault != nil && !m.Fault.Notification && !p.noise(m.Message) {
		return decision{back: r.Answer(m.ID, m.Method)}
	}
	return decision{}
}

// answerTo returns the id of the request that a message answers, nil when it answers none.
func (m *item) answerTo() jsonrpc.ID {
	switch {
	case m.Message == nil:
		return nil
	case m.Fault != nil:
		return m.Fault.Answered
	case m.Answer():
		return m.ID
	default:
		return nil
	}
}

// forget tells stages and observer that nothing comes of a request.
func (p *pump) forget(from stage.Side, e *entry, how stage.End) {
	p.relay.quietly(func() { p.relay.over(e, how) })                          //nolint:errcheck // it is noted
	p.relay.quietly(func() { p.relay.ended(from, e, End{Outcome: Refused}) }) //nolint:errcheck // it is noted
}

// failure returns the refusal of what the guard failed at, noted as far as that can be.
func (p *pump) failure(m *jsonrpc.Message, call *stage.Call, cause error) stage.Refusal {
	r := stage.Refusal{
		Code: stage.GuardFailed, Rule: "relay",
		Reason: "The guard failed at this message, and so did not pass it on.",
		Fix:    "Tell the user; other calls are not affected.",
		Event:  p.relay.event(), Cause: cause,
	}
	p.relay.quietly(func() { p.tell(r, m, call) }) //nolint:errcheck // it is noted
	return r
}

// lost answers what was written since the last flush, of which a write panicked.
func (p *pump) lost(cause error) {
	for _, m := range slices.Clone(p.late) {
		d := p.failed(&m, cause)
		if d.instead != nil {
			p.to.write(withEnd(d.instead))
		}
		if d.back != nil {
			p.back.post(withEnd(d.back))
		}
	}
	p.to.flush() //nolint:errcheck // told to who writes next
}
