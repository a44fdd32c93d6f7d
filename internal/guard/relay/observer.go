// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"strconv"
	"time"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// An Observer is told what happens in a session, by both pumps at once. Messages wait for it, so
// it returns soon, and keeps nothing of a message.
type Observer interface {
	// Begin hears of a request before it is passed on. One for which it returns an error is refused.
	Begin(m *stage.Message) error
	// End hears, once, how a request ended that was passed on.
	End(from stage.Side, c *stage.Call, e End)
	// Refused hears of what does not pass, for which r has an event. Of what is no message, m has
	// what could be told of it. A refused answer is the end of its request, too.
	Refused(m *stage.Message, r stage.Refusal)
	// Flagged hears of what passes and was marked for review.
	Flagged(m *stage.Message, flags []string, event string)
	// Violated hears of a line that nobody is answered for: it was dropped.
	Violated(from stage.Side, v Violation, line []byte)
}

// An Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	OK         Outcome = "ok"
	IsError    Outcome = "is_error" // a tool's own error
	Failed     Outcome = "error"    // a JSON-RPC error
	Cancelled  Outcome = "cancelled"
	Refused    Outcome = "refused" // its answer was kept back
	ServerGone Outcome = "server_gone"
)

// An End is how a request ended, and when.
type End struct {
	Outcome Outcome
	Code    int64 // of a JSON-RPC error
	Answer  []byte
	Took    time.Duration
}

// A Violation is a way to break the protocol.
type Violation string

// The violations of lines that are dropped. Those of lines that are refused have a code.
const (
	Noise   Violation = "noise"
	Unasked Violation = "unasked_answer"
)

// nobody observes nothing.
type nobody struct{}

func (nobody) Begin(*stage.Message) error                        { return nil }
func (nobody) End(stage.Side, *stage.Call, End)                  {}
func (nobody) Refused(*stage.Message, stage.Refusal)             {}
func (nobody) Flagged(*stage.Message, []string, string)          {}
func (nobody) Violated(from stage.Side, v Violation, why []byte) {}

// ended tells the observer how a request of one side ended that it heard of. Of one that was
// cancelled it knows.
func (r *Relay) ended(from stage.Side, e *entry, end End) {
	if e.cancelled || !e.open.Swap(false) {
		return
	}
	end.Took = time.Since(e.began)
	r.options.Observer.End(from, &e.call, end)
}

// endOf returns how an answer that passes ends its request.
func endOf(m *jsonrpc.Message) End {
	if m.Error != nil {
		members, _ := jsonrpc.ParseObject(m.Error)
		code, _ := strconv.ParseInt(string(members.Get("code")), 10, 64) //nolint:errcheck // without one it is 0
		return End{Outcome: Failed, Code: code, Answer: m.Error}
	}
	if string(m.Outcome.Get("isError")) == "true" {
		return End{Outcome: IsError, Answer: m.Result}
	}
	return End{Outcome: OK, Answer: m.Result}
}
