// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
	"sentinel/internal/sanitize"
)

// A pump reads one side and writes to the other.
type pump struct {
	relay *Relay
	from  stage.Side
	in    *jsonrpc.Lines
	to    *output
	back  *output
	asked *pending // requests of the side that is read
	due   *pending // requests of the other side, which the side that is read answers
	held  sync.WaitGroup

	mu   sync.Mutex // of what was written and not flushed
	late []item
}

func newPump(r *Relay, from stage.Side, in io.Reader, to, back *output, asked, due *pending) *pump {
	return &pump{relay: r, from: from, in: jsonrpc.NewLines(in, r.options.MaxLine), to: to, back: back, asked: asked, due: due}
}

// A decision is what becomes of one message.
type decision struct {
	pass    bool
	instead []byte          // goes on in the place of an answer
	back    []byte          // goes to the sender
	later   func() decision // the decision is still to be made, and this waits for it
}

// read passes on what it reads until the stream ends.
func (p *pump) read() {
	for {
		line, err := p.next()
		switch {
		case errors.Is(err, jsonrpc.ErrTooLong):
			p.handled(line, nil, p.tooLong)
		case err != nil:
			return
		case !jsonrpc.Blank(line):
			p.handled(line, nil, p.line)
		}
		if !p.in.More() {
			p.relay.busy.Store(true)
			p.flush()
		}
	}
}

// next reads a line. After a panic of the reader nothing more is known of the stream: it has ended.
func (p *pump) next() (line []byte, err error) {
	if panicked := p.relay.quietly(func() { line, err = p.in.Next() }); panicked != nil {
		return nil, panicked
	}
	return line, err
}

func (p *pump) line(h *handling) {
	frame := jsonrpc.Parse(h.line)
	h.of(frame.Messages)
	if frame.Batch {
		p.batch(h)
		return
	}
	line, m := h.line, h.items[0].Message
	if m.Fault != nil && m.Fault.Code == jsonrpc.ParseError {
		head := jsonrpc.ParseHead(line, line[max(0, len(line)-512):])
		m.Raw, m.Fault.Answered = line, head.Fault.Answered
		if p.from == stage.Server {
			m.ID, m.Method = head.ID, head.Method
		}
	}
	d := p.judge(&h.items[0])
	if d.later == nil {
		p.apply(line, h.items, d)
		return
	}
	p.await(h, []decision{d}, func(d []decision) { p.apply(line, h.items, d[0]) })
}

// await has finish called with decisions once all of them are made: at once, or beside what comes
// after.
func (p *pump) await(h *handling, all []decision, finish func([]decision)) {
	if !slices.ContainsFunc(all, func(d decision) bool { return d.later != nil }) {
		finish(all)
		return
	}
	p.held.Go(func() {
		p.handled(h.line, h.items, func(*handling) {
			for i, d := range all {
				if d.later != nil {
					all[i] = p.guarded(&h.items[i], d.later)
				}
			}
			finish(all)
		})
		p.flush()
	})
}

// apply does what was decided about one line, with the messages that are in it. What it writes
// waits for flush.
func (p *pump) apply(line []byte, items []item, d decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.instead != nil {
		line = withEnd(d.instead)
	}
	if d.pass || d.instead != nil {
		p.to.write(line)
	}
	for i := range items {
		m := &items[i]
		m.done = true
		if d.pass && m.asked != nil || m.answers != nil {
			p.late = append(p.late, item{asked: m.asked, answers: m.answers})
		}
	}
	if d.back != nil {
		p.back.post(withEnd(d.back))
	}
}

// flush has what was written arrive. Requests that the server does not take are answered.
func (p *pump) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		clear(p.late)
		p.late = p.late[:0]
	}()
	err := p.to.flush()
	if lost, panicked := errors.AsType[*panicError](err); panicked {
		p.lost(lost)
		return
	}
	if err == nil {
		return
	}
	p.relay.writeFailed(p.from.Other())
	if p.from == stage.Server {
		return
	}
	for _, m := range p.late {
		if m.asked != nil && p.asked.drop(m.asked) {
			p.back.post(withEnd(p.unserved(m.asked)))
		}
	}
}

// unserved returns the refusal of a request that was passed on to a server that has ended, or does
// not take it.
func (p *pump) unserved(e *entry) []byte {
	m := item{asked: e, dropped: true}
	return p.guarded(&m, func() decision {
		if e.sent {
			p.relay.over(e, stage.Gone)
		}
		p.relay.ended(p.from, e, End{Outcome: ServerGone})
		return decision{back: p.refuse(serverGone(), nil, &e.call).Answer(e.call.ID, e.call.Method)}
	}).back
}

func withEnd(line []byte) []byte { return append(slices.Clip(line), '\n') }

// judge decides about one message.
func (p *pump) judge(m *item) decision {
	return p.guarded(m, func() decision {
		switch {
		case m.Fault != nil:
			return p.faulty(m)
		case m.Request():
			return p.request(m)
		case m.Answer():
			return p.answer(m)
		default:
			return p.notification(m)
		}
	})
}

func (p *pump) verdict(m *item, call *stage.Call) stage.Verdict {
	return stage.Run(p.relay.options.Stages, p.known(m, call))
}

// known is a message with what is known of it.
func (p *pump) known(m *item, call *stage.Call) *stage.Message {
	m.known = stage.Message{Message: m.Message, From: p.from, Call: call, Revision: p.relay.session.spoken()}
	return &m.known
}

// passes notes the flags of a message that passes.
func (p *pump) passes(m *item, call *stage.Call, v stage.Verdict) {
	if len(v.Flags) > 0 {
		p.relay.options.Observer.Flagged(p.known(m, call), v.Flags, p.relay.event())
	}
}

// keepBack returns the refusal that who waits gets in the place of an answer.
func (p *pump) keepBack(e *entry, m *jsonrpc.Message, r stage.Refusal) []byte {
	refused := p.refuse(r, m, &e.call)
	p.relay.ended(p.from.Other(), e, End{Outcome: Refused})
	return refused.Answer(e.call.ID, e.call.Method)
}

// faulty decides about what is no message. It never passes. An answer becomes a refusal to who
// waits for it, a request is refused to its sender; what the server prints that looks like neither
// is noise, and is dropped.
func (p *pump) faulty(m *item) decision {
	refusal := malformed(m.Fault.Reason + ".")
	if v := p.verdict(m, nil); v.Action == stage.Block {
		refusal = v.Refusal
	}
	if e := m.answered(p.due.take(m.Fault.Answered)); e != nil {
		p.relay.over(e, stage.Unreadable)
		refusal.Reason = fmt.Sprintf("The answer of the %s cannot be read in exactly one way. %s", p.from, refusal.Reason)
		return decision{instead: p.keepBack(e, m.Message, refusal)}
	}
	switch {
	case m.Fault.Notification:
		p.refuse(refusal, m.Message, nil)
	case p.noise(m.Message):
		p.relay.options.Observer.Violated(p.from, Noise, m.Raw)
		p.relay.options.Note("noise of the "+p.from.String(), fmt.Sprintf("The %s wrote a line that is no message; such lines are dropped: %q", p.from, shown(m.Raw)))
	default:
		return decision{back: p.refuse(refusal, m.Message, nil).Answer(m.ID, m.Method)}
	}
	return decision{}
}

// noise says that nobody is answered for what is no message.
func (p *pump) noise(m *jsonrpc.Message) bool {
	return p.from == stage.Server && m.Method == "" || m.Fault.Answered != nil
}

func shown(text []byte) string {
	const most = 80
	return sanitize.Text(strings.ToValidUTF8(string(text[:min(len(text), 4*most)]), "?"), most)
}

// request decides about a request, which is in flight from now on.
func (p *pump) request(m *item) decision {
	e := p.relay.session.begin(p.from, m.Message)
	refused := func(r stage.Refusal) decision {
		return decision{back: p.refuse(r, m.Message, &e.call).Answer(m.ID, m.Method)}
	}
	switch p.asked.add(e) {
	case entered:
	case inUse:
		return refused(malformed("A request with this id is still in flight."))
	case full:
		return refused(busy("Too many requests are in flight."))
	case gone:
		return refused(serverGone())
	}
	m.asked = e
	v := p.verdict(m, &e.call)
	if v.Later == nil {
		return p.requested(e, m, v)
	}
	ctx, cancel := context.WithCancel(p.relay.ctx)
	p.asked.holds(e, cancel)
	return p.wait(ctx, v, func(v stage.Verdict) decision {
		defer cancel()
		return p.requested(e, m, v)
	})
}

// requested does what was decided about a request. One that the observer cannot take is refused.
func (p *pump) requested(e *entry, m *item, v stage.Verdict) decision {
	if v.Action != stage.Block {
		err := p.relay.options.Observer.Begin(p.known(m, &e.call))
		if err == nil {
			e.open.Store(true)
			p.passes(m, &e.call, v)
			return decision{pass: p.send(e)}
		}
		v = stage.Blocked(unrecorded(err))
	}
	p.relay.over(e, stage.Refused)
	if !p.asked.drop(e) { // cancelled, or answered when the server went
		return decision{}
	}
	m.dropped = true
	return decision{back: p.refuse(v.Refusal, m.Message, &e.call).Answer(e.call.ID, e.call.Method)}
}

// send marks a request as passed on, unless nobody waits for its answer any more.
func (p *pump) send(e *entry) bool {
	sent := p.asked.send(e)
	if !sent {
		p.relay.over(e, stage.Refused)
		p.relay.ended(p.from, e, End{Outcome: Cancelled})
	}
	return sent
}

// answer decides about an answer, which must be to a request that was passed on.
func (p *pump) answer(m *item) decision {
	e := m.answered(p.due.take(m.ID))
	// An error without an id is about a request that its receiver could not read.
	if e == nil && (m.ID != nil || m.Error == nil || !p.due.awaits()) {
		p.relay.options.Observer.Violated(p.from, Unasked, m.Raw)
		p.relay.options.Note("unasked answer of the "+p.from.String(), "The "+p.from.String()+" answered what nobody asked; such answers are dropped")
		return decision{}
	}
	if e == nil {
		return decision{pass: p.verdict(m, nil).Action != stage.Block}
	}
	p.relay.session.answered(p.from, e, m.Message)
	v, end := p.verdict(m, &e.call), endOf(m.Message)
	p.relay.over(e, verdictOf(end))
	if v.Later == nil {
		return p.answered(e, m, v, end)
	}
	return p.wait(p.relay.ctx, v, func(v stage.Verdict) decision { return p.answered(e, m, v, end) })
}

// answered does what was decided about an answer.
func (p *pump) answered(e *entry, m *item, v stage.Verdict, end End) decision {
	if v.Action != stage.Block {
		p.passes(m, &e.call, v)
		p.relay.ended(p.from.Other(), e, end)
		return decision{pass: true}
	}
	return decision{instead: p.keepBack(e, m.Message, v.Refusal)}
}

// verdictOf returns what an answer says of the side that it is from.
func verdictOf(end End) stage.End {
	if end.Code == jsonrpc.InternalError {
		return stage.Failed
	}
	return stage.Answered
}

func (p *pump) notification(m *item) decision {
	if m.Method == "notifications/cancelled" {
		p.asked.cancel(m.Members.Get("requestId"), func(e *entry) {
			p.relay.over(e, stage.Cancelled)
			p.relay.ended(p.from, e, End{Outcome: Cancelled})
		})
	}
	v := p.verdict(m, nil)
	if v.Later == nil {
		return p.notified(m, v)
	}
	return p.wait(p.relay.ctx, v, func(v stage.Verdict) decision { return p.notified(m, v) })
}

// notified does what was decided about a notification.
func (p *pump) notified(m *item, v stage.Verdict) decision {
	if v.Action == stage.Block {
		p.refuse(v.Refusal, m.Message, nil)
		return decision{}
	}
	p.passes(m, nil, v)
	return decision{pass: true}
}

// wait returns how to wait for the rest of a verdict, with which finish is called then.
func (p *pump) wait(ctx context.Context, v stage.Verdict, finish func(stage.Verdict) decision) decision {
	select {
	case p.relay.held <- struct{}{}:
	default:
		return finish(stage.Blocked(busy("Too many messages wait for a decision.")))
	}
	return decision{later: func() decision {
		defer func() { <-p.relay.held }()
		v, _ := v.Later(ctx) //nolint:errcheck // that of stage.Run returns none
		return finish(v)
	}}
}

// refuse gives the refusal of a message its event and has it noted. The message is nil where it is
// not at hand, the call for what is no request and no answer to one.
func (p *pump) refuse(r stage.Refusal, m *jsonrpc.Message, call *stage.Call) stage.Refusal {
	r.Event = p.relay.event()
	p.tell(r, m, call)
	return r
}

// tell has a refusal noted.
func (p *pump) tell(r stage.Refusal, m *jsonrpc.Message, call *stage.Call) {
	if m == nil {
		m = &jsonrpc.Message{}
	}
	p.relay.options.Observer.Refused(p.known(&item{Message: m}, call), r)
	sentence := fmt.Sprintf("A message of the %s was refused: %s %s (%s)", p.from, r.Code, sanitize.Text(r.Reason, 200), r.Event)
	if r.Cause != nil {
		sentence += ": " + sanitize.Text(r.Cause.Error(), 200)
	}
	p.relay.options.Note(string(r.Code)+" "+r.Rule, sentence)
}

func malformed(reason string) stage.Refusal {
	return stage.Refusal{Code: stage.Malformed, Rule: "envelope", Reason: reason, Fix: "Send it again in the form of the protocol."}
}

func busy(reason string) stage.Refusal {
	return stage.Refusal{Code: stage.GuardFailed, Rule: "relay", Reason: reason, Fix: "Wait for some of them.", Retry: true}
}

func unrecorded(cause error) stage.Refusal {
	return stage.Refusal{
		Code: stage.GuardFailed, Rule: "record",
		Reason: "The guard could not record this message, and so did not pass it on.",
		Fix:    "Tell the user; the log of the client says why.",
		Retry:  true, Cause: cause,
	}
}

// tooLong answers a line that was skipped, of which the beginning and the end are known.
func (p *pump) tooLong(h *handling) {
	h.of([]jsonrpc.Message{jsonrpc.ParseHead(h.line, p.in.Tail())})
	m := &h.items[0]
	p.apply(nil, h.items, p.guarded(m, func() decision { return p.skipped(m) }))
}

// skipped decides about a message that is too long. An answer that names no request is that to the
// only one there is.
func (p *pump) skipped(m *item) decision {
	refusal := stage.Refusal{
		Code: stage.TooLarge, Rule: "relay",
		Reason: fmt.Sprintf("A line of the %s was longer than %d bytes and was skipped.", p.from, p.relay.options.MaxLine),
		Fix:    "Ask for less at a time, or for a part of it.",
	}
	id := m.Fault.Answered
	_, isAnswer := id.Key()
	if !isAnswer && m.Method == "" && m.ID == nil {
		id = p.due.only()
	}
	if e := m.answered(p.due.take(id)); e != nil {
		p.relay.over(e, stage.Unreadable)
		return decision{instead: p.keepBack(e, m.Message, refusal)}
	}
	refused := p.refuse(refusal, m.Message, nil)
	if isAnswer || strings.HasPrefix(m.Method, "notifications/") || p.from == stage.Server && m.ID == nil {
		return decision{}
	}
	return decision{back: refused.Answer(m.ID, m.Method)}
}
