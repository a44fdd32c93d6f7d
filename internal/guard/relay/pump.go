// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
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
	late []*jsonrpc.Message
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
		line, err := p.in.Next()
		switch {
		case errors.Is(err, jsonrpc.ErrTooLong):
			p.tooLong(line)
		case err != nil:
			return
		case !jsonrpc.Blank(line):
			p.line(line)
		}
		if !p.in.More() {
			p.relay.busy.Store(true)
			p.flush()
		}
	}
}

func (p *pump) line(line []byte) {
	frame := jsonrpc.Parse(line)
	if frame.Batch {
		p.batch(line, frame.Messages)
		return
	}
	m := &frame.Messages[0]
	if m.Fault != nil && m.Fault.Code == jsonrpc.ParseError {
		head := jsonrpc.ParseHead(line, line[max(0, len(line)-512):])
		m.Raw, m.Fault.Answered = line, head.Fault.Answered
		if p.from == stage.Server {
			m.ID, m.Method = head.ID, head.Method
		}
	}
	d := p.judge(m)
	if d.later == nil {
		p.apply(line, frame.Messages, d)
		return
	}
	p.await([]decision{d}, func(d []decision) { p.apply(line, frame.Messages, d[0]) })
}

// await has finish called with decisions once all of them are made: at once, or beside what comes
// after.
func (p *pump) await(all []decision, finish func([]decision)) {
	if !slices.ContainsFunc(all, func(d decision) bool { return d.later != nil }) {
		finish(all)
		return
	}
	p.held.Go(func() {
		for i, d := range all {
			if d.later != nil {
				all[i] = d.later()
			}
		}
		finish(all)
		p.flush()
	})
}

// apply does what was decided about one line, with the messages that are in it. What it writes
// waits for flush.
func (p *pump) apply(line []byte, messages []jsonrpc.Message, d decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case d.pass:
		p.to.write(line)
		if p.from == stage.Client {
			for i := range messages {
				if messages[i].Request() {
					p.late = append(p.late, &messages[i])
				}
			}
		}
	case d.instead != nil:
		p.to.write(withEnd(d.instead))
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
	if p.to.flush() == nil {
		return
	}
	p.relay.writeFailed(p.from.Other())
	for _, m := range p.late {
		if e := p.asked.take(m.ID); e != nil {
			p.back.post(withEnd(p.unserved(e).Answer(m.ID, m.Method)))
		}
	}
}

// unserved refuses a request that was passed on to a server that has ended, or does not take it.
func (p *pump) unserved(e *entry) stage.Refusal {
	if e.sent {
		p.relay.over(e, stage.Gone)
	}
	p.relay.ended(p.from, e, End{Outcome: ServerGone})
	return p.refuse(serverGone(), nil, e.call)
}

func withEnd(line []byte) []byte { return append(slices.Clip(line), '\n') }

// judge decides about one message.
func (p *pump) judge(m *jsonrpc.Message) decision {
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
}

func (p *pump) verdict(m *jsonrpc.Message, call *stage.Call) stage.Verdict {
	return stage.Run(p.relay.options.Stages, p.known(m, call))
}

// known is a message with what is known of it.
func (p *pump) known(m *jsonrpc.Message, call *stage.Call) *stage.Message {
	return &stage.Message{Message: m, From: p.from, Call: call, Revision: p.relay.session.spoken()}
}

// passes notes the flags of a message that passes.
func (p *pump) passes(m *jsonrpc.Message, call *stage.Call, v stage.Verdict) {
	if len(v.Flags) > 0 {
		p.relay.options.Observer.Flagged(p.known(m, call), v.Flags, p.relay.event())
	}
}

// keepBack returns the refusal that who waits gets in the place of an answer.
func (p *pump) keepBack(e *entry, m *jsonrpc.Message, r stage.Refusal) []byte {
	refused := p.refuse(r, m, e.call)
	p.relay.ended(p.from.Other(), e, End{Outcome: Refused})
	return refused.Answer(e.call.ID, e.call.Method)
}

// faulty decides about what is no message. It never passes. An answer becomes a refusal to who
// waits for it, a request is refused to its sender; what the server prints that looks like neither
// is noise, and is dropped.
func (p *pump) faulty(m *jsonrpc.Message) decision {
	refusal := malformed(m.Fault.Reason + ".")
	if v := p.verdict(m, nil); v.Action == stage.Block {
		refusal = v.Refusal
	}
	if e := p.due.take(m.Fault.Answered); e != nil {
		p.relay.over(e, stage.Unreadable)
		refusal.Reason = fmt.Sprintf("The answer of the %s cannot be read in exactly one way. %s", p.from, refusal.Reason)
		return decision{instead: p.keepBack(e, m, refusal)}
	}
	switch {
	case m.Fault.Notification:
		p.refuse(refusal, m, nil)
	case p.from == stage.Server && m.Method == "", m.Fault.Answered != nil:
		p.relay.options.Observer.Violated(p.from, Noise, m.Raw)
		p.relay.options.Note("noise of the "+p.from.String(), fmt.Sprintf("The %s wrote a line that is no message; such lines are dropped: %q", p.from, shown(m.Raw)))
	default:
		return decision{back: p.refuse(refusal, m, nil).Answer(m.ID, m.Method)}
	}
	return decision{}
}

func shown(text []byte) string {
	const most = 80
	return sanitize.Text(strings.ToValidUTF8(string(text[:min(len(text), 4*most)]), "?"), most)
}

// request decides about a request, which is in flight from now on.
func (p *pump) request(m *jsonrpc.Message) decision {
	e := p.relay.session.begin(p.from, m)
	refused := func(r stage.Refusal) decision {
		return decision{back: p.refuse(r, m, e.call).Answer(m.ID, m.Method)}
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
	v := p.verdict(m, e.call)
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
func (p *pump) requested(e *entry, m *jsonrpc.Message, v stage.Verdict) decision {
	if v.Action != stage.Block {
		err := p.relay.options.Observer.Begin(p.known(m, e.call))
		if err == nil {
			p.passes(m, e.call, v)
			return decision{pass: p.send(e)}
		}
		v = stage.Blocked(unrecorded(err))
	}
	p.relay.over(e, stage.Refused)
	if !p.asked.drop(e) { // cancelled, or answered when the server went
		return decision{}
	}
	return decision{back: p.refuse(v.Refusal, m, e.call).Answer(e.call.ID, e.call.Method)}
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
func (p *pump) answer(m *jsonrpc.Message) decision {
	e := p.due.take(m.ID)
	// An error without an id is about a request that its receiver could not read.
	if e == nil && (m.ID != nil || m.Error == nil || !p.due.awaits()) {
		p.relay.options.Observer.Violated(p.from, Unasked, m.Raw)
		p.relay.options.Note("unasked answer of the "+p.from.String(), "The "+p.from.String()+" answered what nobody asked; such answers are dropped")
		return decision{}
	}
	if e == nil {
		return decision{pass: p.verdict(m, nil).Action != stage.Block}
	}
	p.relay.session.answered(p.from, e, m)
	v := p.verdict(m, e.call)
	p.relay.over(e, verdictOf(m))
	if v.Later == nil {
		return p.answered(e, m, v)
	}
	return p.wait(p.relay.ctx, v, func(v stage.Verdict) decision { return p.answered(e, m, v) })
}

// answered does what was decided about an answer.
func (p *pump) answered(e *entry, m *jsonrpc.Message, v stage.Verdict) decision {
	if v.Action != stage.Block {
		p.passes(m, e.call, v)
		p.relay.ended(p.from.Other(), e, endOf(m))
		return decision{pass: true}
	}
	return decision{instead: p.keepBack(e, m, v.Refusal)}
}

// verdictOf returns what an answer says of the side that it is from.
func verdictOf(m *jsonrpc.Message) stage.End {
	if endOf(m).Code == jsonrpc.InternalError {
		return stage.Failed
	}
	return stage.Answered
}

func (p *pump) notification(m *jsonrpc.Message) decision {
	if m.Method == "notifications/cancelled" {
		p.asked.cancel(m.Members.Get("requestId"), func(e *entry) {
			p.relay.ended(p.from, e, End{Outcome: Cancelled})
			p.relay.over(e, stage.Cancelled)
		})
	}
	v := p.verdict(m, nil)
	if v.Later == nil {
		return p.notified(m, v)
	}
	return p.wait(p.relay.ctx, v, func(v stage.Verdict) decision { return p.notified(m, v) })
}

// notified does what was decided about a notification.
func (p *pump) notified(m *jsonrpc.Message, v stage.Verdict) decision {
	if v.Action == stage.Block {
		p.refuse(v.Refusal, m, nil)
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
	if m == nil {
		m = &jsonrpc.Message{}
	}
	p.relay.options.Observer.Refused(p.known(m, call), r)
	sentence := fmt.Sprintf("A message of the %s was refused: %s %s (%s)", p.from, r.Code, sanitize.Text(r.Reason, 200), r.Event)
	if r.Cause != nil {
		sentence += ": " + sanitize.Text(r.Cause.Error(), 200)
	}
	p.relay.options.Note(string(r.Code)+" "+r.Rule, sentence)
	return r
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

// tooLong answers a line that was skipped, of which the beginning and the end are known. An answer
// that names no request is that to the only one there is.
func (p *pump) tooLong(head []byte) {
	m := jsonrpc.ParseHead(head, p.in.Tail())
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
	if e := p.due.take(id); e != nil {
		p.relay.over(e, stage.Unreadable)
		p.apply(nil, nil, decision{instead: p.keepBack(e, &m, refusal)})
		return
	}
	refused := p.refuse(refusal, &m, nil)
	if isAnswer || strings.HasPrefix(m.Method, "notifications/") || p.from == stage.Server && m.ID == nil {
		return
	}
	p.back.post(withEnd(refused.Answer(m.ID, m.Method)))
}

// batch decides about an array of messages, one by one.
func (p *pump) batch(line []byte, messages []jsonrpc.Message) {
	if p.relay.session.spoken() != revisionWithBatches {
		p.noBatch(messages, "Batches are part of revision "+revisionWithBatches+" alone; this one was refused as a whole.")
		return
	}
	if len(messages) == 0 {
		p.noBatch(nil, "A batch holds at least one message.")
		return
	}
	all := make([]decision, len(messages))
	for i := range messages {
		all[i] = p.judge(&messages[i])
	}
	p.await(all, func(all []decision) { p.applyBatch(line, messages, all) })
}

// noBatch refuses a batch as a whole. Who waits for an answer that is in it gets a refusal.
func (p *pump) noBatch(messages []jsonrpc.Message, why string) {
	refusal := malformed(why)
	for _, m := range messages {
		id := m.ID
		if m.Fault != nil {
			id = m.Fault.Answered
		} else if !m.Answer() {
			continue
		}
		if e := p.due.take(id); e != nil {
			p.relay.over(e, stage.Unreadable)
			p.apply(nil, nil, decision{instead: p.keepBack(e, &m, refusal)})
		}
	}
	refused := p.refuse(refusal, nil, nil)
	if p.from == stage.Client {
		p.back.post(withEnd(refused.Answer(nil, "")))
	}
}

// applyBatch does what was decided about the messages of a batch. What is refused is taken out of
// it; when nothing is, it passes as it came.
func (p *pump) applyBatch(line []byte, messages []jsonrpc.Message, all []decision) {
	var whole decision
	var kept, refused [][]byte
	untouched := true
	for i, d := range all {
		switch {
		case d.pass:
			kept = append(kept, messages[i].Raw)
		case d.instead != nil:
			kept = append(kept, d.instead)
		}
		untouched = untouched && d.pass
		if d.back != nil {
			refused = append(refused, d.back)
		}
	}
	if len(refused) > 0 {
		whole.back = array(refused)
	}
	whole.pass = len(kept) > 0
	if !untouched {
		line = withEnd(array(kept))
	}
	p.apply(line, messages, whole)
}

func array(elements [][]byte) []byte {
	return append(append([]byte("["), bytes.Join(elements, []byte(","))...), ']')
}
