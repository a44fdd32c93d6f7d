// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"time"

	"sentinel/internal/guard/stage"
	"sentinel/internal/hashchain"
	"sentinel/internal/sanitize"
)

// The types of events.
const (
	Session   = "mcp_session"
	Call      = "mcp_call"
	Decision  = "mcp_decision"
	Violation = "mcp_violation"
	headEvent = "mcp_head" // the head was signed
)

// Pending is the outcome of a call that was passed on and is not answered yet.
const Pending = "pending"

// An Event is one line of the record.
type Event struct {
	Seq       uint64    `json:"seq"`                                                                  // in its session, from 1
	Type      string    `json:"type" enum:"mcp_session,mcp_call,mcp_decision,mcp_violation,mcp_head"` // what it tells of
	Timestamp time.Time `json:"timestamp"`                                                            // UTC
	SessionID string    `json:"session_id"`                                                           // of the life of one guard; its lines are one file
	ServerID  string    `json:"server_id"`                                                            // what rules call the server

	// Of a session.
	Phase         string `json:"phase,omitempty" enum:"start,agreed,end"`
	ServerType    string `json:"server_type,omitempty"`    // how it is reached: stdio
	Command       string `json:"command,omitempty"`        // without secrets
	PID           int    `json:"pid,omitempty"`            // of the guard
	Revision      string `json:"revision,omitempty"`       // of the protocol
	ClientName    string `json:"client_name,omitempty"`    // as it says
	ClientVersion string `json:"client_version,omitempty"` // as it says
	ExitStatus    *int   `json:"exit_status,omitempty"`    // of the server

	// Of a call, and of what was decided about one.
	From       string  `json:"from,omitempty" enum:"client,server"`
	Call       int     `json:"call,omitempty"`        // its number in the session
	Method     string  `json:"method,omitempty"`      // of the request
	ToolName   string  `json:"tool_name,omitempty"`   // or the name of the prompt, the URI of the resource
	Arguments  *Value  `json:"arguments,omitempty"`   // of the request
	Result     *Value  `json:"result,omitempty"`      // or the error
	Outcome    string  `json:"outcome,omitempty"`     // pending at its beginning, then how it ended
	ErrorCode  int64   `json:"error_code,omitempty"`  // of JSON-RPC
	DurationMS float64 `json:"duration_ms,omitempty"` // from its beginning to its end

	// Of a decision or a violation.
	EventID   string       `json:"event_id,omitempty"`                                 // as in the answer
	Action    string       `json:"action,omitempty" enum:"block,alert"`                // what was done: refused, or marked for a person to see
	Code      string       `json:"code,omitempty"`                                     // of the refusal
	Rule      string       `json:"rule,omitempty"`                                     // that decided
	Reason    string       `json:"reason,omitempty"`                                   // as in the answer
	Flags     []string     `json:"flags,omitempty"`                                    // why it is for a person to see
	Severity  string       `json:"severity,omitempty" enum:"low,medium,high,critical"` // how bad it may be
	Hints     *stage.Hints `json:"hints,omitempty"`                                    // of the tool, where the rule that decided looks at them
	Violation string       `json:"violation,omitempty"`                                // what of the protocol was broken
	Size      int          `json:"size,omitempty"`                                     // of the line in bytes
	Omitted   int          `json:"omitted,omitempty"`                                  // violations before this one that were too many to record

	Head uint64 `json:"head,omitempty"` // the number of the head that was signed
	Prev string `json:"prev"`           // the hash of the line before, "" in the first of a session
}

// A Value is what is kept of arguments or a result.
type Value struct {
	Size   int             `json:"size"`             // bytes
	Digest string          `json:"digest,omitempty"` // keyed
	Shape  json.RawMessage `json:"shape,omitempty"`  // names and types, and no values
	// Content is the value, where the rules want values kept and it is short.
	Content json.RawMessage `json:"content,omitempty"`
	Whole   bool            `json:"whole,omitempty"` // no secret was taken out of content
}

// maxLine bounds a line in bytes.
const maxLine = 16 << 10

// parseEvent reads a line without its newline. It is not intact when it was changed, and not ok
// when it is no line of the record.
func parseEvent(line []byte) (e Event, hash string, intact, ok bool) {
	hash, intact, ok = hashchain.Check(line)
	if !ok || len(line) > maxLine || json.Unmarshal(line, &e) != nil || e.Seq == 0 || e.Type == "" {
		return Event{}, "", false, false
	}
	return e, hash, intact, true
}

// visible makes the texts of an event fit to be shown. What a guard has written is; but who knows how
// lines are chained can write others.
func (e *Event) visible() {
	const longest = 1000
	texts := []*string{
		&e.Type, &e.SessionID, &e.ServerID, &e.Phase, &e.ServerType, &e.Command, &e.Revision, &e.ClientName, &e.ClientVersion, &e.From,
		&e.Method, &e.ToolName, &e.Outcome, &e.EventID, &e.Action, &e.Code, &e.Rule, &e.Reason, &e.Severity, &e.Violation, &e.Prev,
	}
	for i := range e.Flags {
		texts = append(texts, &e.Flags[i])
	}
	for _, text := range texts {
		*text = sanitize.Text(*text, longest)
	}
}

// plain says that a line has nothing that could be anything but visible.
func plain(line []byte) bool {
	return !bytes.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' }) && !bytes.Contains(line, []byte(`\u`))
}
