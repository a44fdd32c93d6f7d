// SPDX-License-Identifier: Apache-2.0

package record

import (
	"sync"
	"time"

	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

var _ relay.Observer = (*Log)(nil)

// harmless are the requests that pass although they cannot be recorded: they ask for lists and
// settings, and a client that cannot begin a session could not say what is wrong.
var harmless = map[string]bool{
	"initialize": true, "server/discover": true, "ping": true, "tools/list": true, "prompts/list": true, "resources/list": true,
	"resources/templates/list": true, "roots/list": true, "logging/setLevel": true, "completion/complete": true,
}

// unrecorded requests only ask whether the other side is there.
const unrecorded = "ping"

// Begin records a request before it is passed on.
func (l *Log) Begin(m *stage.Message) error {
	if m.Method == unrecorded {
		return nil
	}
	e := l.call(m.From, m.Call)
	e.Outcome, e.Arguments = Pending, l.value(stage.ArgumentsOf(m.Method, m.Params, m.Members), true)
	err := l.write(e)
	l.meet(m)
	if harmless[m.Method] || err != nil && l.options.BestEffort() {
		return nil
	}
	return err
}

func (l *Log) call(from stage.Side, c *stage.Call) Event {
	return Event{Type: Call, From: from.String(), Call: c.Number, Method: c.Method, ToolName: c.Name}
}

// meet records who the client is and which revision is spoken, once both are known.
func (l *Log) meet(m *stage.Message) {
	l.mu.Lock()
	info := m.Members.Get("clientInfo")
	if info == nil {
		info = m.Meta.Get("io.modelcontextprotocol/clientInfo")
	}
	if info != nil && !l.agreed {
		members, _ := jsonrpc.ParseObject(info)
		name, _ := jsonrpc.Text(members.Get("name"))
		version, _ := jsonrpc.Text(members.Get("version"))
		l.client.ClientName, l.client.ClientVersion = clean(name), clean(version)
	}
	known := !l.agreed && m.From == stage.Client && m.Revision != ""
	l.agreed = l.agreed || known
	e := l.client
	l.mu.Unlock()
	if known {
		e.Type, e.Phase, e.Revision = Session, "agreed", clean(m.Revision)
		l.write(e) //nolint:errcheck // told
	}
}

// End records how a request ended.
func (l *Log) End(from stage.Side, c *stage.Call, end relay.End) {
	if c.Method == unrecorded {
		return
	}
	e := l.call(from, c)
	e.Outcome, e.ErrorCode, e.Result, e.DurationMS = string(end.Outcome), end.Code, l.value(end.Answer, false), ms(end.Took)
	l.write(e) //nolint:errcheck // told
}

// Refused records what does not pass. A call that never began ends with it.
func (l *Log) Refused(m *stage.Message, r stage.Refusal) {
	e := Event{Type: Decision, From: m.From.String()}
	if m.Call != nil {
		e = l.call(m.From, m.Call)
		e.Type = Decision
	}
	e.EventID, e.Action, e.Code, e.Rule, e.Reason, e.Severity = r.Event, "block", string(r.Code), clean(r.Rule), clean(r.Reason), "medium"
	e.Hints = r.Hints
	switch r.Code {
	case stage.Malformed, stage.TooLarge:
		e.Type, e.Violation, e.Size = Violation, "malformed", len(m.Raw)
		if r.Code == stage.TooLarge {
			e.Violation = "too_long"
		}
	case stage.GuardFailed:
		e.Severity = "high"
	}
	begun := m.Message != nil && m.Request() && m.Call != nil && r.Code != stage.ServerGone
	if begun {
		e.Outcome, e.Arguments = string(relay.Refused), l.value(stage.ArgumentsOf(m.Method, m.Params, m.Members), true)
	}
	if e.Type != Violation || l.flood.admits(&e) {
		l.write(e) //nolint:errcheck // told
	}
	l.audit(e, m)
}

// Flagged records what passes and is for a person to see.
func (l *Log) Flagged(m *stage.Message, flags []string, event string) {
	e := Event{Type: Decision, From: m.From.String()}
	if m.Call != nil {
		e = l.call(m.From, m.Call)
		e.Type = Decision
	}
	e.EventID, e.Action, e.Severity = event, "alert", "low"
	for _, f := range flags {
		if len(e.Flags) < 20 {
			e.Flags = append(e.Flags, clean(f))
		}
	}
	l.write(e) //nolint:errcheck // told
}

// Violated records a line that was dropped.
func (l *Log) Violated(from stage.Side, v relay.Violation, line []byte) {
	e := Event{Type: Violation, From: from.String(), Violation: string(v), Size: len(line), Severity: "low"}
	if l.flood.admits(&e) {
		l.write(e) //nolint:errcheck // told
	}
}

// A flood bounds how many violations are recorded: a server may print banners without end.
type flood struct {
	mu      sync.Mutex
	since   time.Time
	count   int
	omitted int
}

// perMinute is how many violations are recorded in a minute.
const perMinute = 60

func (f *flood) admits(e *Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.since) > time.Minute {
		f.since, f.count = now, 0
	}
	if f.count++; f.count > perMinute {
		f.omitted++
		return false
	}
	e.Omitted, f.omitted = f.omitted, 0
	return true
}

// rest returns how many were left out and not told yet.
func (f *flood) rest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.omitted
}
