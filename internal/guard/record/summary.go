// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/guard/relay"
)

// Bounds of a summary.
const (
	maxKinds   = 10_000 // tools, reasons and sessions that are told apart
	maxSlowest = 5
)

// others stands for what came after so many that more are not told apart.
const others = "…"

// A Summary is what the events of one session, or of all since a time, come to.
type Summary struct {
	Since         time.Time      `json:"since,omitzero"` // zero when it is of one session
	Servers       []string       `json:"servers"`
	Sessions      []SessionSum   `json:"sessions"` // the newest last
	SessionsTotal int            `json:"sessions_total"`
	Calls         int            `json:"calls"`
	Outcomes      map[string]int `json:"outcomes"`
	Tools         []ToolSum      `json:"tools"` // the most called first
	ToolsTotal    int            `json:"tools_total"`
	Refusals      []RefusalSum   `json:"refusals"` // the most frequent first
	RefusalsTotal int            `json:"refusals_total"`
	Flags         map[string]int `json:"flags"`      // of what passed and is for a person to see
	Violations    map[string]int `json:"violations"` // with those that were too many to record as "omitted"
	Severities    map[string]int `json:"severities"` // of refusals, flags and violations
	ArgumentBytes int64          `json:"argument_bytes"`
	ResultBytes   int64          `json:"result_bytes"`
	Slowest       []SlowCall     `json:"slowest"` // the slowest first
}

// A SessionSum is one session. What it has no line of is absent: a session without an end runs, or
// was killed.
type SessionSum struct {
	SessionID     string     `json:"session_id"`
	ServerID      string     `json:"server_id"`
	Command       string     `json:"command,omitempty"`
	Start         *time.Time `json:"start,omitempty"`
	End           *time.Time `json:"end,omitempty"`
	ExitStatus    *int       `json:"exit_status,omitempty"`
	ClientName    string     `json:"client_name,omitempty"`
	ClientVersion string     `json:"client_version,omitempty"`
	Revision      string     `json:"revision,omitempty"`
	Calls         int        `json:"calls"`
	Refusals      int        `json:"refusals"`
	Violations    int        `json:"violations"`

	last time.Time
}

// A ToolSum is the calls of one tool, prompt or resource, or the requests of one method.
type ToolSum struct {
	ServerID string         `json:"server_id"`
	Method   string         `json:"method"`
	ToolName string         `json:"tool_name,omitempty"`
	Calls    int            `json:"calls"`
	Outcomes map[string]int `json:"outcomes"`
}

// A RefusalSum is how often a rule refused something with a code.
type RefusalSum struct {
	Code  string `json:"code"`
	Rule  string `json:"rule"`
	Count int    `json:"count"`
}

// A SlowCall is a call that took long.
type SlowCall struct {
	Timestamp  time.Time `json:"timestamp"` // of its end
	SessionID  string    `json:"session_id"`
	ServerID   string    `json:"server_id"`
	Call       int       `json:"call"`
	Method     string    `json:"method"`
	ToolName   string    `json:"tool_name,omitempty"`
	DurationMS float64   `json:"duration_ms"`
}

// SumSession returns what is recorded of one session. There is none of that name when the summary
// has no session.
func SumSession(ctx context.Context, dir, session string) (Summary, error) {
	return summarize(ctx, dir, session, time.Time{})
}

// SumSince returns what is recorded since a time.
func SumSince(ctx context.Context, dir string, since time.Time) (Summary, error) {
	return summarize(ctx, dir, "", since)
}

func summarize(ctx context.Context, dir, session string, since time.Time) (Summary, error) {
	s := newSums(since)
	names, err := files(dir) // by time, so that a session is read from its beginning
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Summary{}, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return Summary{}, err
		}
		path := filepath.Join(dir, name)
		at, err := changed(path)
		if err != nil || at.Before(since) || session != "" && !strings.Contains(name, "-"+session+"-") {
			continue
		}
		err = scan(path, func(e Event) {
			if session == "" || e.SessionID == session {
				s.add(e)
			}
		})
		if err != nil && !passed(err) {
			return Summary{}, err
		}
	}
	return s.summary(), nil
}

// A callID names a call.
type callID struct {
	session, from string
	call          int
}

// sums is a summary that is being made.
type sums struct {
	Summary
	sessions map[string]*SessionSum
	tools    map[[3]string]*ToolSum
	refusals map[[2]string]int
	open     map[callID]Event // calls that have not ended
}

func newSums(since time.Time) *sums {
	return &sums{
		Summary:  Summary{Since: since, Outcomes: map[string]int{}, Flags: map[string]int{}, Violations: map[string]int{}, Severities: map[string]int{}},
		sessions: map[string]*SessionSum{}, tools: map[[3]string]*ToolSum{}, refusals: map[[2]string]int{}, open: map[callID]Event{},
	}
}

// add counts an event. That a session began is kept although it was before the time that counts.
func (s *sums) add(e Event) {
	of := s.session(e)
	if e.Type == Session {
		of.meet(e)
	}
	if e.Timestamp.Before(s.Since) {
		return
	}
	if e.Type != headEvent {
		of.last = e.Timestamp
	}
	if e.Severity != "" {
		s.Severities[e.Severity]++
	}
	if e.Omitted > 0 {
		s.Violations["omitted"] += e.Omitted
		of.Violations += e.Omitted
	}
	switch {
	case e.Type == Violation:
		s.Violations[e.Violation]++
		of.Violations++
	case e.Type == Decision && e.Action == "block":
		s.refuse(e)
		of.Refusals++
	case e.Type == Decision:
		for _, f := range e.Flags {
			s.Flags[admitted(s.Flags, f, others)]++
		}
	}
	if e.Outcome != "" {
		s.call(of, e)
	}
}

// admitted is the name under which something is counted: its own, or that of the others once there
// are too many.
func admitted[K comparable, V any](counts map[K]V, name, others K) K {
	if _, known := counts[name]; !known && len(counts) >= maxKinds {
		return others
	}
	return name
}

func (s *sums) session(e Event) *SessionSum {
	id := admitted(s.sessions, e.SessionID, others)
	if s.sessions[id] == nil {
		s.sessions[id] = &SessionSum{SessionID: id, ServerID: e.ServerID}
	}
	return s.sessions[id]
}

// meet keeps what a line tells of its session.
func (s *SessionSum) meet(e Event) {
	switch e.Phase {
	case "start":
		s.Start, s.Command = &e.Timestamp, e.Command
	case "agreed":
		s.ClientName, s.ClientVersion, s.Revision = e.ClientName, e.ClientVersion, e.Revision
	case "end":
		s.End, s.ExitStatus = &e.Timestamp, e.ExitStatus
	}
}

func (s *sums) refuse(e Event) {
	s.RefusalsTotal++
	s.refusals[admitted(s.refusals, [2]string{e.Code, e.Rule}, [2]string{others, others})]++
}

// call counts a call when it ends; its beginning only has its arguments.
func (s *sums) call(of *SessionSum, e Event) {
	if e.Arguments != nil {
		s.ArgumentBytes += int64(e.Arguments.Size)
	}
	id := callID{e.SessionID, e.From, e.Call}
	if e.Outcome == Pending {
		if len(s.open) < maxKinds { // more never end
			s.open[id] = e
		}
		return
	}
	delete(s.open, id)
	s.ended(of, e)
}

func (s *sums) ended(of *SessionSum, e Event) {
	s.Calls++
	of.Calls++
	s.Outcomes[e.Outcome]++
	t := s.tool(e)
	t.Calls++
	t.Outcomes[e.Outcome]++
	if e.Result != nil {
		s.ResultBytes += int64(e.Result.Size)
	}
	if e.DurationMS > 0 && e.Outcome != string(relay.Refused) {
		s.slow(e)
	}
}

func (s *sums) tool(e Event) *ToolSum {
	key := admitted(s.tools, [3]string{e.ServerID, e.Method, e.ToolName}, [3]string{others, others, others})
	if s.tools[key] == nil {
		s.tools[key] = &ToolSum{ServerID: key[0], Method: key[1], ToolName: key[2], Outcomes: map[string]int{}}
	}
	return s.tools[key]
}

func (s *sums) slow(e Event) {
	s.Slowest = append(s.Slowest, SlowCall{e.Timestamp, e.SessionID, e.ServerID, e.Call, e.Method, e.ToolName, e.DurationMS})
	slices.SortStableFunc(s.Slowest, func(a, b SlowCall) int { return cmp.Compare(b.DurationMS, a.DurationMS) })
	s.Slowest = s.Slowest[:min(len(s.Slowest), maxSlowest)]
}

// summary ends the counting: calls that have not ended are pending.
func (s *sums) summary() Summary {
	for id, e := range s.open {
		of := s.sessions[id.session]
		if of == nil {
			of = s.sessions[others]
		}
		s.ended(of, e)
	}
	r := s.Summary
	r.Servers, r.Sessions, r.Tools, r.Refusals = []string{}, []SessionSum{}, []ToolSum{}, []RefusalSum{}
	if r.Slowest == nil {
		r.Slowest = []SlowCall{}
	}
	for _, of := range s.sessions {
		if !of.last.IsZero() {
			r.Sessions = append(r.Sessions, *of)
			r.Servers = append(r.Servers, of.ServerID)
		}
	}
	for _, t := range s.tools {
		r.Tools = append(r.Tools, *t)
	}
	for of, n := range s.refusals {
		r.Refusals = append(r.Refusals, RefusalSum{of[0], of[1], n})
	}
	r.SessionsTotal, r.ToolsTotal = len(r.Sessions), len(r.Tools)
	r.sort()
	return r
}

func (r *Summary) sort() {
	slices.Sort(r.Servers)
	r.Servers = slices.Compact(r.Servers)
	slices.SortFunc(r.Sessions, func(a, b SessionSum) int {
		return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.SessionID, b.SessionID))
	})
	slices.SortFunc(r.Tools, func(a, b ToolSum) int {
		return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.ServerID, b.ServerID), cmp.Compare(a.Method, b.Method), cmp.Compare(a.ToolName, b.ToolName))
	})
	slices.SortFunc(r.Refusals, func(a, b RefusalSum) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Code, b.Code), cmp.Compare(a.Rule, b.Rule))
	})
}
