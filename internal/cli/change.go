// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/fault"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/sessions"
)

// A change is a write that has passed every check and has not happened yet.
type change struct {
	object map[string]any // what it acts on, for the journal, as it was understood
	would  string         // what it would do, for a dry run: a sentence
	// preview is what the answer would hold; may be nil.
	preview any
	do      func(ctx context.Context) (changed, error)
	// pending says after a failed do that the system carries the change on by
	// itself, as systemd does with a job that it has accepted; may be nil.
	pending func() bool
	// already is the answer when there is nothing to do, and so nothing to record.
	already  document
	close    func() // gives back what the plan holds; may be nil
	reason   string // of the change itself, where nobody is there to give one
	question string // what a person at a terminal is asked before; "" where nobody is
	// bound is what must be the same when a change is made to which a person agreed before; nil is
	// object.
	bound any
	idle  bool // a dry run found that there is nothing to do
	named bool // it is to go where the administrator of this machine has said, and nobody has to agree
	// urgent says that it is made also when it cannot be recorded.
	urgent bool
}

// A changed document tells what was done.
type changed interface {
	document
	// outcome is one sentence for the journal.
	outcome() string
	// note keeps what the journal has of it.
	note(r record)
}

// A record ties a document to the journal. Documents of changes embed it.
type record struct {
	// JournalSeq is the number of the record in the journal.
	JournalSeq  uint64      `json:"journal_seq,omitempty"`
	Unavailable answer.Gaps `json:"unavailable,omitempty"` // what the journal lacks of this change, and why
}

func (r *record) note(n record) {
	r.JournalSeq = n.JournalSeq
	r.Unavailable = append(r.Unavailable, n.Unavailable...)
}

// on adds what the journal has of a change to the failure that it ended with.
func (r record) on(err error) error {
	e := fault.From(err)
	return e.WithObject(failedChange{e.With, r})
}

// A failedChange combines the object of a failure with what the journal has of the
// change.
type failedChange struct {
	object any // nil, or a struct
	record record
}

// MarshalJSON puts the members of both into one object.
func (f failedChange) MarshalJSON() ([]byte, error) {
	noted, err := encode(f.record, false)
	if err != nil || f.object == nil {
		return noted, err
	}
	object, err := encode(f.object, false)
	object, noted = bytes.TrimSpace(object), bytes.TrimSpace(noted)
	if err != nil || len(noted) <= len("{}") {
		return object, err
	}
	if len(object) <= len("{}") {
		return noted, nil
	}
	return append(append(object[:len(object)-1], ','), noted[1:]...), nil
}

func (f failedChange) explain(p *page) {
	if e, ok := f.object.(explained); ok {
		e.explain(p)
	}
	p.gaps(f.record.Unavailable)
}

// lastResort is how far a change may exceed the time limit of its operation, which
// it enforces itself. Only a change that hangs in the kernel gets here.
const lastResort = 10 * time.Second

// commit records what is about to happen, does it, and records what came of
// it. Once the intent is on disk the change is finished or rolled back, whatever happens to
// the caller; ctx tells it to make haste.
func (s session) commit(ctx context.Context, call invocation, c change) (document, error) {
	if c.close != nil {
		defer c.close()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.already != nil {
		return s.unchanged(ctx, call, c.already), nil
	}
	held, err := s.begin(ctx, call, c)
	if err != nil {
		return nil, err
	}
	progress.Say(ctx, 20, "checked and recorded; now it is done")
	doc, err := deadline.Call(context.WithoutCancel(ctx), call.op.Deadline+lastResort, func(context.Context) (changed, error) {
		limit, cancel := context.WithTimeout(ctx, call.op.Deadline)
		defer cancel()
		return c.do(limit)
	})
	noted := held.finish(ctx, outcomeOf(c, doc, err))
	noted.Unavailable.Add("watch", s.watch(ctx, call.op))
	if err != nil {
		return nil, noted.on(err)
	}
	doc.note(noted)
	return doc, nil
}

// unchanged answers a change that there is nothing to do for.
func (s session) unchanged(ctx context.Context, call invocation, doc document) document {
	if d, ok := doc.(changed); ok {
		var r record
		r.Unavailable.Add("watch", s.watch(ctx, call.op))
		d.note(r)
	}
	return doc
}

// A journalEntry is the intent of a change in the journal, or the error that
// prevented it; neither for a change that is not journaled.
type journalEntry struct {
	journal *journal.Entry
	gap     error
}

// begin records the intent. The one change that is made without a record is a
// forced unblock at the console: somebody who is locked out must get back in although the
// disk is full.
func (s session) begin(ctx context.Context, call invocation, c change) (journalEntry, error) {
	if !s.root && call.op.Privilege != ops.NeedsRoot {
		return journalEntry{}, nil // an ordinary user has no journal, and nothing to answer for in it
	}
	s.who.From = s.cameFrom(ctx, call.op)
	e, err := s.journal.Begin(ctx, journal.Intent{
		Tool: call.op.Name, Arguments: c.object, Reason: cmp.Or(c.reason, call.args.Text("reason")), Who: s.who, Program: s.program(),
	}, s.rateLimit(call.op), s.dayLimit())
	if err != nil && s.mayGoUnrecorded(call, c, err) {
		return journalEntry{gap: err}, nil
	}
	return journalEntry{journal: e}, err
}

// fromLimit bounds the look for where a session came from, which is a note and no reason to wait.
const fromLimit = 2 * time.Second

// cameFrom returns the address from which somebody is logged in who asks for a change; "" where nobody
// is, or it is not known. The sockets tell it: what the environment says would be a claim, and sudo
// drops it.
func (s session) cameFrom(ctx context.Context, op ops.Operation) string {
	if s.host.Sessions == nil || op.Toolset == "" {
		return ""
	}
	model, err := deadline.Call(ctx, fromLimit, s.host.Sessions)
	if err != nil {
		return ""
	}
	for _, own := range model.Sessions {
		if own.Whose == sessions.Own && len(own.From) > 0 {
			return own.From[0].String()
		}
	}
	return ""
}

// program identifies this process, so that its record is not taken for an
// interrupted one while it is still running.
func (s session) program() journal.Program {
	start, _ := s.host.StartID(os.Getpid()) //nolint:errcheck // without it the record shows as cut off until it has its outcome
	return journal.Program{PID: os.Getpid(), StartID: start}
}

// mayGoUnrecorded lets root's own run do without a record where the want of one
// would hurt most: a person who is locked out gets in, a firewall that nobody could confirm is
// taken back, and a fleet hears of the very disk that is full.
func (s session) mayGoUnrecorded(call invocation, c change, err error) bool {
	if !s.root || limited(s.who) || fault.From(err).Code != fault.JournalFailed {
		return false
	}
	return c.urgent || call.op.Name == "report" || call.op.Name == "unblock_ip_address" && call.force
}

// finish records the outcome. If that fails, the change has been made all the same,
// and the document says so.
func (t journalEntry) finish(ctx context.Context, o journal.Outcome) record {
	r := record{}
	if t.journal == nil && t.gap == nil {
		return r
	}
	if t.journal == nil {
		r.Unavailable.Note("journal", "nothing was recorded: "+t.gap.Error())
		return r
	}
	r.JournalSeq = t.journal.Seq()
	if lost := t.journal.Finish(ctx, o); lost != nil {
		r.Unavailable.Note("journal", "the outcome was not recorded: "+lost.Error())
	}
	return r
}

// outcomeOf says how a change ended.
func outcomeOf(c change, doc changed, err error) journal.Outcome {
	if err == nil {
		return journal.Outcome{Result: journal.Done, Detail: doc.outcome()}
	}
	e := fault.From(err)
	o := journal.Outcome{Result: journal.Failed, Code: string(e.Code), Detail: e.Message}
	if c.pending != nil && c.pending() {
		o.Result = journal.Pending
	}
	return o
}
