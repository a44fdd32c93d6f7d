// SPDX-License-Identifier: Apache-2.0

// Package stage says what a stage of the guard's pipeline is, and runs the stages for a message.
//
// A stage sees each message before it is passed on and lets it pass, marks it for review, or
// blocks it with a refusal. The list of stages is in internal/guard/stages.
package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sentinel/internal/jsonrpc"
)

// A Side is one of the two that the guard stands between.
type Side int

// The two sides.
const (
	Client Side = iota
	Server
)

// Other returns the side opposite.
func (s Side) Other() Side { return 1 - s }

// String returns the word for the side.
func (s Side) String() string { return [...]string{"client", "server"}[s] }

// A Call is a request, from when it was read until it is answered.
type Call struct {
	ID     jsonrpc.ID // as it came
	Method string
	Name   string // of the tool or prompt, the URI of the resource; "" when the method has none
	// Number counts the calls of one guard. A request that repeats another with the input that the
	// server had asked for (input_required) is the same call and has its number.
	Number int
	Retry  bool // it is such a repetition
}

// A Message is what a stage judges. Its bytes are those that are passed on.
type Message struct {
	*jsonrpc.Message
	From Side
	Call *Call // the request itself, or the one that is answered; nil for a notification
	// Revision of MCP that the two speak, as far as the traffic has told; else "".
	Revision string
}

// An Action is what a stage wants done with a message.
type Action int

// What is done with a message.
const (
	Allow  Action = iota // it passes
	Review               // it passes, and its flags are for a person to see
	Block                // it does not pass, and is answered with a refusal
)

// A Verdict is what a stage returns; the zero value lets the message pass.
type Verdict struct {
	Action  Action
	Flags   []string // of a review
	Refusal Refusal  // of a block
	// Later, if set, is the rest of a judgement that waits for somebody. Other messages pass
	// meanwhile. Its context ends when the request is cancelled or the session ends.
	Later func(context.Context) (Verdict, error)
}

// An End is how a request ended.
type End int

// The ends of a request.
const (
	Refused    End = iota // it was not passed on
	Answered              // by the other side, whether or not the answer passes
	Failed                // by the other side, which says that it failed itself (JSON-RPC, -32603)
	Unreadable            // by the other side, with what is no message
	Cancelled             // who sent it no longer waits
	Gone                  // the other side has ended, or takes nothing any more
)

// Blocked returns the verdict that refuses a message.
func Blocked(r Refusal) Verdict { return Verdict{Action: Block, Refusal: r} }

// A Stage judges messages. Judge is called for one message of each side at a time, for both sides
// at once, and returns at once; what takes its time is the verdict's Later. An error blocks the
// message.
type Stage struct {
	Name  string
	Judge func(m *Message) (Verdict, error)
	// Ended, if set, is called once for each request that was judged, by whatever stage blocked it:
	// when its answer has been judged and is not passed on yet, or when none will come. The call is
	// the one of the messages. It is called from anywhere, and returns at once.
	Ended func(c *Call, how End)
}

// Run returns what the stages decide together: the first block, else all flags. What a stage fails
// at blocks that message alone.
func Run(stages []Stage, m *Message) Verdict {
	var total Verdict
	for i, s := range stages {
		v := guarded(s.Name, func() (Verdict, error) { return s.Judge(m) })
		switch {
		case v.Later != nil:
			return Verdict{Later: waiting(total, v.Later, stages[i:], m)}
		case v.Action == Block:
			return v
		case v.Action != Allow, v.Flags != nil:
			total = total.and(v)
		}
	}
	return total
}

// waiting returns the rest of a judgement in which the first of stages has to wait.
func waiting(before Verdict, judge func(context.Context) (Verdict, error), stages []Stage, m *Message) func(context.Context) (Verdict, error) {
	return func(ctx context.Context) (Verdict, error) {
		decided := guarded(stages[0].Name, func() (Verdict, error) { return judge(ctx) })
		return resume(ctx, before.and(decided), stages[1:], m), nil
	}
}

// Ended tells the stages that a request has ended. The error names those that fail at it.
func Ended(stages []Stage, c *Call, how End) error {
	var failures []error
	for _, s := range stages {
		if s.Ended == nil {
			continue
		}
		v := guarded(s.Name, func() (Verdict, error) {
			s.Ended(c, how)
			return Verdict{}, nil
		})
		if v.Action == Block {
			failures = append(failures, fmt.Errorf("%s: %w", s.Name, v.Refusal.Cause))
		}
	}
	return errors.Join(failures...)
}

// resume runs the stages after one that had to wait.
func resume(ctx context.Context, before Verdict, rest []Stage, m *Message) Verdict {
	if before.Action == Block {
		return before
	}
	v := Run(rest, m)
	if v.Later != nil {
		v, _ = v.Later(ctx) //nolint:errcheck // the one of Run returns none
	}
	return before.and(v)
}

// and adds a later verdict.
func (v Verdict) and(later Verdict) Verdict {
	if later.Action == Block {
		return later
	}
	v.Action = max(v.Action, later.Action)
	v.Flags = slices.Concat(v.Flags, later.Flags)
	return v
}

// guarded makes a refusal of what a stage fails at. Its cause is not for the model to read.
func guarded(name string, judge func() (Verdict, error)) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = failed(name, fmt.Errorf("panic: %v", p))
		}
	}()
	v, err := judge()
	if err != nil {
		return failed(name, err)
	}
	return v
}

func failed(name string, cause error) Verdict {
	return Blocked(Refusal{
		Code:   GuardFailed,
		Rule:   name,
		Reason: "The guard could not judge this message, and so did not pass it on.",
		Fix:    "Tell the user; other calls are not affected.",
		Cause:  cause,
	})
}
