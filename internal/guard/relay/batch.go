// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// batch decides about an array of messages, one by one.
func (p *pump) batch(h *handling) {
	if p.relay.session.spoken() != revisionWithBatches {
		p.noBatch(h, "Batches are part of revision "+revisionWithBatches+" alone; this one was refused as a whole.")
		return
	}
	if len(h.items) == 0 {
		p.noBatch(h, "A batch holds at least one message.")
		return
	}
	all := make([]decision, len(h.items))
	for i := range h.items {
		all[i] = p.judge(&h.items[i])
	}
	p.await(h, all, func(all []decision) { p.applyBatch(h.line, h.items, all) })
}

// noBatch refuses a batch as a whole. Who waits for an answer that is in it gets a refusal.
func (p *pump) noBatch(h *handling, why string) {
	refusal := malformed(why)
	for i := range h.items {
		m := &h.items[i]
		p.apply(nil, h.items[i:i+1], p.guarded(m, func() decision { return p.unbatched(m, refusal) }))
	}
	whole := item{Message: &jsonrpc.Message{Fault: &jsonrpc.Fault{}}}
	p.apply(nil, nil, p.guarded(&whole, func() decision {
		refused := p.refuse(refusal, nil, nil)
		if p.from == stage.Server {
			return decision{}
		}
		return decision{back: refused.Answer(nil, "")}
	}))
}

// unbatched decides about a message of a batch that is refused.
func (p *pump) unbatched(m *item, r stage.Refusal) decision {
	id := m.ID
	if m.Fault != nil {
		id = m.Fault.Answered
	} else if !m.Answer() {
		return decision{}
	}
	e := m.answered(p.due.take(id))
	if e == nil {
		return decision{}
	}
	p.relay.over(e, stage.Unreadable)
	return decision{instead: p.keepBack(e, m.Message, r)}
}

// applyBatch does what was decided about the messages of a batch. What is refused is taken out of
// it; when nothing is, it passes as it came.
func (p *pump) applyBatch(line []byte, items []item, all []decision) {
	var whole decision
	var kept, refused [][]byte
	untouched := true
	for i, d := range all {
		switch {
		case d.pass:
			kept = append(kept, items[i].Raw)
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
	p.apply(line, items, whole)
}

func array(elements [][]byte) []byte {
	return append(append([]byte("["), bytes.Join(elements, []byte(","))...), ']')
}
