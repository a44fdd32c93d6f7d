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
	m.history.Truncated = len(m.history.Actions) < m.history.Total
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
	history  History
}

func (m *merger) take(line []byte) {
	if m.newest.Seq == 0 {
		if r, err := parseLine(line); err == nil {
			m.newest = r
		}
	}
	if len(m.history.Actions) == m.last {
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
		m.history.Actions = append(m.history.Actions, m.action(r))
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
