// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"time"
)

// MaxHistory is the most actions that History returns, whatever is asked for.
const MaxHistory = 1000

// States of an action that has no outcome; one that has is in the state of its
// [Outcome].
const (
	Running = "running"
	Unknown = "unknown" // its program ended without telling
)

// An Action is an intent together with what came of it.
type Action struct {
	Seq       uint64         `json:"seq"`
	Time      time.Time      `json:"time"` // when it began, UTC
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Who       Who            `json:"who"`
	State     string         `json:"state"` // done, failed, pending, rolled_back, running or unknown
	Code      string         `json:"code,omitempty"`
	Detail    string         `json:"detail,omitempty"`
	EndedAt   *time.Time     `json:"ended_at,omitempty"` // UTC
	// Repeated counts how often the same was done right before, with the same end;
	// only reports, which a timer makes, are put together so. Since is when the first of these began,
	// UTC.
	Repeated int        `json:"repeated,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
}

// routine is what a timer does all day: one by one its actions would leave no
// room for any other.
const routine = "report"

// continues says that an older action is the same as a, with the same end.
func (a *Action) continues(older Action) bool {
	return a.Tool == routine && older.Tool == routine && a.State == older.State && a.Code == older.Code && a.Reason == older.Reason &&
		a.Who.User == older.Who.User && a.Who.SudoUser == older.Who.SudoUser && a.Who.Caller == older.Who.Caller
}

// A History is the newest actions. Actions without an outcome are unknown until
// [History.Settle] finds their programs.
type History struct {
	Actions    []Action `json:"actions"` // newest first
	Total      int      `json:"total"`   // all that the kept files hold
	Truncated  bool     `json:"truncated"`
	Unreadable int      `json:"unreadable,omitempty"` // lines among those looked at that are no records, or were changed
	// Damage is how the end of the journal differs from its head: what was
	// removed is not among the actions. Empty when nothing was.
	Damage string `json:"damage,omitempty"`
}

// maxOutcomes bounds the outcomes that wait for their intents while a journal is
// read backwards.
const maxOutcomes = 10 * MaxHistory

// History returns the last actions, newest first. alive says whether the program
// that wrote an intent still runs; nil means that nobody knows. A journal that was never
// written to has an empty history, and so has one that was removed, with damage.
func (j *Journal) History(ctx context.Context, last int, alive func(Program) bool) (History, error) {
	s, err := j.snapshot(ctx)
	if err != nil {
		return History{}, j.failed(err)
	}
	defer s.close()
	m := merger{last: min(max(0, last), MaxHistory), alive: alive, outcomes: map[uint64]Record{}, history: History{Actions: []Action{}}}
	for line, err := range backwards(s.segments) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return History{}, j.failed(err)
		}
		m.take(line)
	}
	m.history.Truncated = m.told < m.history.Total
	_, m.history.Damage = compare(m.newest, s.head)
	if s.badHead != nil {
		m.history.Damage = s.badHead.Error()
	}
	return m.history, nil
}

// A merger brings intents and outcomes together, newest first.
type merger struct {
	last     int
	alive    func(Program) bool
	outcomes map[uint64]Record // by the number of their intent
	newest   Record            // that is whole; Seq is 0 if there is none
	told     int               // actions that are in the history, or counted there as repeated
	full     bool
	history  History
}

func (m *merger) take(line []byte) {
	if m.newest.Seq == 0 {
		if r, err := parseLine(line); err == nil {
			m.newest = r
		}
	}
	if m.full || m.last == 0 {
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
		m.history.Total++
		m.add(m.action(r))
	default:
		if _, later := m.outcomes[r.Of]; !later && len(m.outcomes) < maxOutcomes {
			m.outcomes[r.Of] = r
		}
	}
}

// isIntent is enough to count: the event stands before anything that a caller
// wrote.
func isIntent(line []byte) bool {
	return bytes.Contains(line[:min(len(line), 100)], []byte(`,"event":"`+EventIntent+`",`))
}

// add appends an action, or counts it where it is the same as the one after it.
// The last one is complete when another follows.
func (m *merger) add(a Action) {
	n := len(m.history.Actions)
	switch {
	case n > 0 && m.history.Actions[n-1].continues(a):
		same := &m.history.Actions[n-1]
		same.Repeated, same.Since = same.Repeated+1, &a.Time
		m.told++
		return
	case n < m.last:
		m.history.Actions = append(m.history.Actions, a)
		m.told++
	}
	m.full = n >= m.last || n+1 == m.last && a.Tool != routine
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
