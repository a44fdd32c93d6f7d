// SPDX-License-Identifier: Apache-2.0

// Package limits counts the calls between a client and a server, and says which would be too many:
// in a minute, at once, or while the server fails.
package limits

import (
	"fmt"
	"math"
	"sync"
	"time"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
	"sentinel/internal/humanize"
)

// maxTools is how many tools are counted at a time. An assistant makes names up.
const maxTools = 10_000

// patience is how long a call may be without an answer before that counts as a failure of the
// server, unless the limits say otherwise: less than clients wait.
const patience = 30 * time.Second

// A Quota is how many calls there may be in a span of time; without calls it is none.
type Quota struct {
	Calls int
	Span  time.Duration
}

// A Request is what wants to be let in.
type Request struct {
	Call   *stage.Call // nil for a call without an id, of whose end nobody will know
	From   stage.Side
	Server string // as the user calls it
	Tool   string // "" for what is no call of a tool
}

// A Counter counts the calls of one session. What was counted stays when the limits change. It is
// safe for concurrent use.
type Counter struct {
	start   time.Time
	perTool Quota // of each tool, besides the limits

	mu      sync.Mutex
	sides   [2]window // by who calls
	open    [2]int
	tools   map[string]*window
	flying  map[*stage.Call]*flight
	breaker *breaker
	timeout time.Duration
	sign    time.Duration // when the server was last seen at work on a call
	swept   time.Duration
}

// A flight is a call that was let in and has not ended.
type flight struct {
	from  stage.Side
	since time.Duration
	probe func(error)
	late  bool // it has been counted as a failure
}

// New returns a counter that also holds each tool to a quota.
func New(perTool Quota) *Counter {
	return &Counter{start: time.Now(), perTool: perTool, tools: map[string]*window{}, flying: map[*stage.Call]*flight{}, breaker: newBreaker(), timeout: patience}
}

// Admit lets a request in, or returns why not. What is refused does not count.
func (c *Counter) Admit(r Request, l policy.Limits) (refusal stage.Refusal, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.start)
	c.configure(l)
	c.sweep(now)
	repeats := r.Call != nil && r.Call.Retry
	quotas := c.quotas(r, l)
	if !repeats {
		if refusal, ok = c.within(now, r, quotas, l); !ok {
			return refusal, false
		}
	}
	f := &flight{from: r.From, since: now}
	if r.From == stage.Client {
		var wait time.Duration
		if f.probe, wait, ok = c.breaker.enter(); !ok {
			return circuitOpen(wait), false
		}
	}
	if !repeats {
		c.count(now, r, quotas, l)
	}
	switch {
	case r.Call != nil:
		c.flying[r.Call] = f
		c.open[r.From]++
	case f.probe != nil:
		f.probe(errNothing)
	}
	return stage.Refusal{}, true
}

func (c *Counter) configure(l policy.Limits) {
	c.breaker.ratio = l.FailureRatio
	if c.timeout = patience; l.TimeoutSeconds > 0 {
		c.timeout = time.Duration(l.TimeoutSeconds) * time.Second
	}
}

// quotas are those that hold for a tool.
func (c *Counter) quotas(r Request, l policy.Limits) (quotas []Quota) {
	if r.Tool == "" {
		return nil
	}
	if c.perTool.Calls > 0 {
		quotas = append(quotas, c.perTool)
	}
	for _, t := range l.PerTool {
		if t.For(r.Server, r.Tool) {
			quotas = append(quotas, Quota{t.CallsPerMinute, time.Minute})
		}
	}
	return quotas
}

// within says whether one more is within the limits.
func (c *Counter) within(now time.Duration, r Request, quotas []Quota, l policy.Limits) (stage.Refusal, bool) {
	if l.Concurrency > 0 && c.open[r.From] >= l.Concurrency {
		return refused(stage.RateLimited, "concurrency", fmt.Sprintf("%d calls are in flight, and no more may be at once.", c.open[r.From]), "Wait for the answer of one of them, then call again."), false
	}
	if l.CallsPerMinute > 0 {
		total := Quota{l.CallsPerMinute, time.Minute}
		if wait := c.sides[r.From].wait(now, total); wait > 0 {
			return tooMany("calls_per_minute", "There were", total, wait), false
		}
	}
	w := c.tools[r.Tool]
	for _, q := range quotas {
		switch {
		case w != nil && w.wait(now, q) > 0:
			return tooMany("per_tool", "This tool had", q, w.wait(now, q)), false
		case w == nil && !c.room(now):
			return tooMany("per_tool", "Calls of too many different tools; there were", Quota{maxTools, c.span()}, c.span()), false
		}
	}
	return stage.Refusal{}, true
}

// span is how long the calls of a tool count.
func (c *Counter) span() time.Duration { return max(time.Minute, c.perTool.Span) }

// room says whether another tool can be counted.
func (c *Counter) room(now time.Duration) bool {
	if len(c.tools) < maxTools {
		return true
	}
	for name, w := range c.tools {
		if w.forget(now, c.span()); len(w.times) == 0 {
			delete(c.tools, name)
		}
	}
	return len(c.tools) < maxTools
}

func (c *Counter) count(now time.Duration, r Request, quotas []Quota, l policy.Limits) {
	if l.CallsPerMinute > 0 {
		c.sides[r.From].add(now, time.Minute)
	}
	if quotas == nil {
		return
	}
	w := c.tools[r.Tool]
	if w == nil {
		w = &window{}
		c.tools[r.Tool] = w
	}
	w.add(now, c.span())
}

// Progress notes that the server is at work.
func (c *Counter) Progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sign = time.Since(c.start)
}

// Ended notes how a call ended; one that was not let in changes nothing.
func (c *Counter) Ended(call *stage.Call, how stage.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.flying[call]
	if f == nil {
		return
	}
	now := time.Since(c.start)
	outcome := c.outcome(now, f, how)
	delete(c.flying, call)
	c.open[f.from]--
	switch {
	case f.from == stage.Server: // somebody had been asked, for whom the server waited
		c.sign = now
	case f.late && outcome != nil: // that is counted
	default:
		c.breaker.ended(f.probe, outcome)
	}
}

// outcome returns what the end of a call says of the server. Results that say isError, errors about
// the request, and answers that the guard does not pass say that it works, or nothing: an assistant
// can bring all of them about.
func (c *Counter) outcome(now time.Duration, f *flight, how stage.End) error {
	switch {
	case how == stage.Answered:
		return nil
	case how == stage.Failed, how == stage.Gone, how == stage.Cancelled && c.overdue(now, f):
		return errFailed
	default:
		return errNothing
	}
}

// overdue says that the server does not answer. While it waits for somebody it need not.
func (c *Counter) overdue(now time.Duration, f *flight) bool {
	return c.open[stage.Server] == 0 && now-max(f.since, c.sign) >= c.timeout
}

// sweep counts calls that are overdue as failures: not all clients say that they wait no longer.
func (c *Counter) sweep(now time.Duration) {
	if c.breaker.ratio == 0 || now-c.swept < time.Second {
		return
	}
	c.swept = now
	for _, f := range c.flying {
		if f.from == stage.Client && !f.late && c.overdue(now, f) {
			c.breaker.ended(f.probe, errFailed)
			f.late, f.probe = true, nil
		}
	}
}

func refused(code stage.Code, rule, reason, fix string) stage.Refusal {
	return stage.Refusal{Code: code, Rule: rule, Reason: reason, Fix: fix, Retry: true}
}

func tooMany(rule, what string, q Quota, wait time.Duration) stage.Refusal {
	reason := fmt.Sprintf("%s %s in %s, and no more may be.", what, humanize.Count(q.Calls, "call", "calls"), seconds(q.Span))
	return refused(stage.RateLimited, rule, reason, "Call again in "+seconds(wait)+".")
}

func circuitOpen(wait time.Duration) stage.Refusal {
	fix := "Wait for the call that tries whether it works again."
	if wait > 0 {
		fix = "Call again in " + seconds(wait) + "."
	}
	return refused(stage.CircuitOpen, "failure_ratio", "The server fails, and is left alone for a while.", fix)
}

// seconds rounds up: a little too early is too early.
func seconds(d time.Duration) string {
	n := int(math.Ceil(d.Seconds()))
	if n == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", n)
}
