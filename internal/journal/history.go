// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"time"
)

// MaxHistory is the most actions that History returns.
const MaxHistory = 1000

// States of an action without an outcome. With one, its state is the result of the
// [Outcome].
const (
	Running = "running"
	Unknown = "unknown" // its program ended without recording an outcome
)

// An Action is an intent with its outcome.
type Action struct {
	Seq       uint64         `json:"seq"`                 // number of its record
	Time      time.Time      `json:"time"`                // when it began, UTC
	Tool      string         `json:"tool"`                // the operation
	Arguments map[string]any `json:"arguments,omitempty"` // what it acted on
	Reason    string         `json:"reason,omitempty"`    // why, as given by the caller
	Who       Who            `json:"who"`                 // who asked for it
	State     string         `json:"state"`               // done, failed, pending, rolled_back, running or unknown
	Code      string         `json:"code,omitempty"`      // error code of a failure
	Detail    string         `json:"detail,omitempty"`    // what came of it, a sentence
	EndedAt   *time.Time     `json:"ended_at,omitempty"`  // UTC
	// Repeated counts the same actions with the same outcome right before this one;
	// only reports, which a timer sends, are grouped. Since is when the first of
	// them began, UTC.
	Repeated int        `json:"repeated,omitempty"`
	Since    *time.Time `json:"since,omitempty"` // when the first of the repeated actions began, UTC
}

// routineTool is the tool that a timer runs all day. Listed one by one, its actions
// would leave no room for others.
const routineTool = "report"

// repeats reports whether a is the same as an older action, with the same outcome.
func (a *Action) repeats(older Action) bool {
	return a.Tool == routineTool && older.Tool == routineTool && a.State == older.State && a.Code == older.Code && a.Reason == older.Reason &&
		a.Who.User == older.Who.User && a.Who.SudoUser == older.Who.SudoUser && a.Who.Caller == older.Who.Caller
}

// A History is the newest actions.
type History struct {
	Actions    []Action `json:"actions"` // newest first
	Total      int      `json:"total"`   // actions in all files that are kept
	Truncated  bool     `json:"truncated"`
	Unreadable int      `json:"unreadable,omitempty"` // lines that are not records or were changed, of those that were read
	// Damage is how the end of the journal differs from its head: removed records
	// are not among the actions. It is empty for an intact journal.
	Damage string `json:"damage,omitempty"`
}

// maxOutcomes bounds the outcomes that are held until their intents are found,
// because the journal is read backwards.
const maxOutcomes = 10 * MaxHistory

// History returns the last actions, newest first. alive reports whether the program
// that wrote an intent still runs; it may be nil. A journal that was never written to has an
// empty history; so has one that was removed, with Damage.
func (j *Journal) History(ctx context.Context, last int, alive func(Program) bool) (History, error) {
	return j.merge(ctx, &merger{last: min(max(0, last), MaxHistory), alive: alive})
}

// A Span is what Between asks for: actions that began from Since to Until, of tools that Wanted names.
type Span struct {
	Since, Until time.Time
	Wanted       func(tool string) bool
}

// Between returns the actions of a span, newest first. The bound on their number counts these alone, so that
// nothing else that is done can push them out; Truncated says that older ones are missing.
func (j *Journal) Between(ctx context.Context, span Span, alive func(Program) bool) (History, error) {
	return j.merge(ctx, &merger{last: MaxHistory, alive: alive, span: &span})
}

func (j *Journal) merge(ctx context.Context, m *merger) (History, error) {
	s, err := j.snapshot(ctx)
	if err != nil {
		return History{}, j.failed(err)
	}
	defer s.close()
	m.outcomes, m.history.Actions = map[uint64]Record{}, []Action{}
	for line, err := range backwards(s.segments) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return History{}, j.failed(err)
		}
		if m.ended() {
			break
		}
		m.addLine(line)
	}
	m.history.Truncated = m.listed < m.history.Total
	_, m.history.Damage = compare(m.newest, s.head)
	if s.badHead != nil {
		m.history.Damage = s.badHead.Error()
	}
	return m.history, nil
}

// A merger joins intents with their outcomes, newest first.
type merger struct {
	last     int
	alive    func(Program) bool
	span     *Span             // nil for all actions
	old      int               // intents in a row that are older than the span
	outcomes map[uint64]Record // by the sequence number of the intent
	newest   Record            // the newest intact record; Seq is 0 if there is none
	listed   int               // actions in the history, including those counted as repeated
	full     bool
	history  History
}

func (m *merger) addLine(line []byte) {
	if m.newest.Seq == 0 {
		if r, err := parseLine(line); err == nil {
			m.newest = r
		}
	}
	if m.span == nil && (m.full || m.last == 0) {
		if isIntent(line) {
			m.history.Total++
		}
		return
	}
	r, err := parseLine(line)
	switch {
	case err != nil:
		m.history.Unreadable++
	case r.Event == EventIntent:
		if a := m.action(r); m.wants(r) {
			m.history.Total++
			m.addAction(a)
		}
	default:
		if _, later := m.outcomes[r.Of]; !later && len(m.outcomes) < maxOutcomes {
			m.outcomes[r.Of] = r
		}
	}
}

// maxOldInSpan is after how many intents in a row that are older than a span nothing of it follows. It is for days of
// reports: a machine without a clock of its own that starts offline sends them all with an old time.
const maxOldInSpan = MaxHistory

// wants reports whether an intent is one of the span.
func (m *merger) wants(intent Record) bool {
	if m.span == nil {
		return true
	}
	m.old++
	if !intent.Time.Before(m.span.Since) {
		m.old = 0
	}
	return m.old == 0 && !intent.Time.After(m.span.Until) && m.span.Wanted(intent.Tool)
}

// ended reports whether nothing of the span follows, or more than is listed.
func (m *merger) ended() bool {
	return m.span != nil && (m.old == maxOldInSpan || m.listed < m.history.Total)
}

// isIntent recognizes an intent without parsing it: the event comes before
// anything that a caller wrote.
func isIntent(line []byte) bool {
	return bytes.Contains(line[:min(len(line), 100)], []byte(`,"event":"`+EventIntent+`",`))
}

// addAction appends an action, or counts it as repeated by the one after it. The
// last action is complete when another one follows.
func (m *merger) addAction(a Action) {
	n := len(m.history.Actions)
	switch {
	case n > 0 && m.history.Actions[n-1].repeats(a):
		same := &m.history.Actions[n-1]
		same.Repeated, same.Since = same.Repeated+1, &a.Time
		m.listed++
		return
	case n < m.last:
		m.history.Actions = append(m.history.Actions, a)
		m.listed++
	}
	m.full = n >= m.last || n+1 == m.last && a.Tool != routineTool
}

func (m *merger) action(r Record) Action {
	a := Action{Seq: r.Seq, Time: r.Time, Tool: r.Tool, Arguments: r.Arguments, Reason: r.Reason, State: Unknown}
	if r.Who != nil {
		a.Who = *r.Who
	}
	outcome, ended := m.outcomes[r.Seq]
	switch {
	case ended:
		delete(m.outcomes, r.Seq)
		a.State, a.Code, a.Detail, a.EndedAt = outcome.Result, outcome.Code, outcome.Detail, &outcome.Time
	case r.Program != nil && m.alive != nil && m.alive(*r.Program):
		a.State = Running
	}
	return a
}
