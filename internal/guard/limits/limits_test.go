// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
)

func parse(t *testing.T, text string) policy.Limits {
	t.Helper()
	p, err := policy.Parse("p", []byte("limits: "+text), policy.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Limits
}

// A caller calls tools of the server s, and remembers what was let in.
type caller struct {
	t *testing.T
	c *Counter
	l policy.Limits
}

// call returns the call that was let in, nil and the code when it was not.
func (k *caller) call(tool string) (*stage.Call, stage.Refusal) {
	call := &stage.Call{Method: policy.ToolsCall, Name: tool}
	r, ok := k.c.Admit(Request{Call: call, Server: "s", Tool: tool}, k.l)
	if !ok {
		return nil, r
	}
	return call, r
}

// passes calls, and has the call end that way.
func (k *caller) passes(tool string, how stage.End) {
	k.t.Helper()
	call, r := k.call(tool)
	if call == nil {
		k.t.Fatalf("%s: %+v", tool, r)
	}
	k.c.Ended(call, how)
}

func (k *caller) refused(tool string, code stage.Code, words string) {
	k.t.Helper()
	if call, r := k.call(tool); call != nil || r.Code != code || !r.Retry || !strings.Contains(r.Reason+" "+r.Fix, words) {
		k.t.Fatalf("%s: %+v, want %s, %q", tool, r, code, words)
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestCallsInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &caller{t, New(Quota{}), parse(t, "{calls_per_minute: 3}")}
		for range 3 {
			k.passes("a", stage.Answered)
			pass(10 * time.Second)
		}
		k.refused("b", stage.RateLimited, "Call again in 30 seconds.")
		pass(30*time.Second - time.Nanosecond)
		k.refused("b", stage.RateLimited, "Call again in 1 second.")
		pass(time.Nanosecond)
		k.passes("b", stage.Answered) // what was refused has not counted
		k.refused("b", stage.RateLimited, "Call again in 10 seconds.")
		pass(time.Minute)
		for range 3 {
			k.passes("c", stage.Answered)
		}
		k.refused("c", stage.RateLimited, "60 seconds")
	})
}

func TestCallsOfATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &caller{t, New(Quota{4, 2 * time.Minute}), parse(t, "{per_tool: {'*:send_*': 2, 's:send_a': 1, 'other:x': 1}}")}
		k.passes("send_a", stage.Answered)
		k.refused("send_a", stage.RateLimited, "1 call in 60 seconds")
		k.passes("send_b", stage.Answered) // each tool for itself
		k.passes("send_b", stage.Answered)
		k.refused("send_b", stage.RateLimited, "2 calls in 60 seconds")
		for range 4 {
			k.passes("x", stage.Answered)
		}
		k.refused("x", stage.RateLimited, "4 calls in 120 seconds")
		pass(time.Minute)
		k.passes("send_a", stage.Answered)
		k.passes("send_b", stage.Answered)
		k.passes("send_b", stage.Answered)
		k.refused("send_b", stage.RateLimited, "60 seconds")
		k.refused("x", stage.RateLimited, "Call again in 60 seconds.")
	})
}

func TestAReloadForgetsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &caller{t, New(Quota{}), parse(t, "{calls_per_minute: 5, per_tool: {a: 4}}")}
		for range 3 {
			k.passes("a", stage.Answered)
		}
		k.l = parse(t, "{calls_per_minute: 5, per_tool: {'s:*': 3}}")
		k.refused("a", stage.RateLimited, "This tool")
		k.l = parse(t, "{calls_per_minute: 2}")
		k.refused("b", stage.RateLimited, "2 calls in 60 seconds")
		k.l = parse(t, "{calls_per_minute: 4}")
		k.passes("b", stage.Answered)
		k.refused("b", stage.RateLimited, "4 calls")
	})
}

func TestManyNamesAreNoWayRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &caller{t, New(Quota{}), parse(t, "{per_tool: {'*': 1}}")}
		for i := range maxTools {
			k.passes(fmt.Sprint(i), stage.Answered)
		}
		k.refused("more", stage.RateLimited, "too many different tools")
		pass(time.Minute)
		k.passes("more", stage.Answered)
		if len(k.c.tools) != 1 {
			t.Errorf("%d tools are remembered", len(k.c.tools))
		}
	})
}

func TestCallsAtOnce(t *testing.T) {
	for _, how := range []stage.End{stage.Refused, stage.Answered, stage.Failed, stage.Unreadable, stage.Cancelled, stage.Gone} {
		k := &caller{t, New(Quota{}), parse(t, "{concurrency: 2}")}
		first, _ := k.call("a")
		k.call("b")
		k.refused("c", stage.RateLimited, "2 calls are in flight")
		k.c.Ended(first, how)
		k.c.Ended(first, how) // nothing is told twice, and would change nothing
		k.c.Ended(&stage.Call{}, how)
		k.call("c")
		k.refused("d", stage.RateLimited, "in flight")
	}
}

// The client has had its answer in between, and a person may have given the input.
func TestARepetitionIsNotCountedAgain(t *testing.T) {
	k := &caller{t, New(Quota{}), parse(t, "{calls_per_minute: 1, per_tool: {a: 1}, concurrency: 1}")}
	k.passes("a", stage.Answered)
	again := &stage.Call{Name: "a", Retry: true}
	if r, ok := k.c.Admit(Request{Call: again, Server: "s", Tool: "a"}, k.l); !ok {
		t.Fatalf("%+v", r)
	}
	k.l = parse(t, "{concurrency: 1}")
	k.refused("b", stage.RateLimited, "in flight") // it is
	k.c.Ended(again, stage.Answered)
	k.passes("b", stage.Answered)
}

func TestWhatTheServerAsksForIsCountedApart(t *testing.T) {
	k := &caller{t, New(Quota{}), parse(t, "{calls_per_minute: 1, concurrency: 1}")}
	k.passes("a", stage.Answered)
	for i, want := range []bool{true, false} {
		if _, ok := k.c.Admit(Request{Call: &stage.Call{}, From: stage.Server}, k.l); ok != want {
			t.Errorf("request %d of the server: %v", i, ok)
		}
	}
}

func TestACallWithoutAnIDIsCountedAndEndsAtOnce(t *testing.T) {
	c, l := New(Quota{}), parse(t, "{calls_per_minute: 2, concurrency: 1}")
	for i, want := range []bool{true, true, false} {
		if _, ok := c.Admit(Request{Server: "s", Tool: "a"}, l); ok != want {
			t.Errorf("call %d: %v", i, ok)
		}
	}
}

func TestTheBreaker(t *testing.T) {
	const on = "{failure_ratio: 0.5}"
	for name, test := range map[string]struct {
		limits string
		ends   []stage.End
		opens  bool
	}{
		"five in a row":                  {on, repeat(stage.Failed, 5), true},
		"four in a row":                  {on, append(repeat(stage.Failed, 4), stage.Answered, stage.Failed), false},
		"half of ten":                    {on, append(repeat(stage.Answered, 4), stage.Failed, stage.Failed, stage.Failed, stage.Answered, stage.Failed, stage.Failed), true},
		"half of eight":                  {on, []stage.End{0: stage.Failed, 1: stage.Answered, 2: stage.Failed, 3: stage.Answered, 4: stage.Failed, 5: stage.Answered, 6: stage.Failed, 7: stage.Answered}, false},
		"a third of many":                {on, repeat2(stage.Answered, stage.Answered, stage.Failed, 20), false},
		"a lower ratio":                  {"{failure_ratio: 0.3}", repeat2(stage.Answered, stage.Answered, stage.Failed, 20), true},
		"bad arguments":                  {on, repeat(stage.Answered, 50), false}, // isError, and -32602, are answers
		"cancelled soon":                 {on, repeat(stage.Cancelled, 50), false},
		"answers that cannot be read":    {on, repeat(stage.Unreadable, 50), false},
		"calls that other stages refuse": {on, repeat(stage.Refused, 50), false},
		"not configured":                 {"{concurrency: 100}", repeat(stage.Failed, 50), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &caller{t, New(Quota{}), parse(t, test.limits)}
				opened := false
				for _, how := range test.ends {
					call, r := k.call("a")
					if call == nil {
						opened = r.Code == stage.CircuitOpen
						break
					}
					k.c.Ended(call, how)
				}
				if call, _ := k.call("a"); (call == nil) != test.opens || opened && !test.opens {
					t.Errorf("open: %v", call == nil)
				}
			})
		})
	}
}

func repeat(how stage.End, n int) (all []stage.End) {
	for range n {
		all = append(all, how)
	}
	return all
}

func repeat2(a, b, c stage.End, n int) (all []stage.End) {
	for range n {
		all = append(all, a, b, c)
	}
	return all
}

func TestAnOpenBreakerTriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &caller{t, New(Quota{}), parse(t, "{failure_ratio: 1}")}
		open := func() {
			t.Helper()
			k.refused("a", stage.CircuitOpen, "Call again in 60 seconds.")
			pass(openFor)
			k.refused("a", stage.CircuitOpen, "")
			pass(time.Second)
		}
		for range inARow {
			k.passes("a", stage.Failed)
		}
		open()
		probe, _ := k.call("a")
		k.refused("b", stage.CircuitOpen, "the call that tries")
		k.c.Ended(probe, stage.Failed)
		open()
		for _, how := range []stage.End{stage.Refused, stage.Cancelled, stage.Unreadable} { // these tell nothing, and hold no place
			k.passes("a", how)
		}
		probe, _ = k.call("a")
		pass(patience) // the server does not answer it, and the client does not say so
		k.refused("a", stage.CircuitOpen, "60 seconds")
		k.c.Ended(probe, stage.Cancelled)
		open()
		k.passes("a", stage.Answered)
		for range inARow - 1 {
			k.passes("a", stage.Failed)
		}
		k.passes("a", stage.Answered)
	})
}

func TestAServerThatDoesNotAnswerFails(t *testing.T) {
	for name, test := range map[string]struct {
		limits string
		during func(k *caller) // in the middle of the call
		opens  bool
	}{
		"silence":           {"{failure_ratio: 1, timeout_seconds: 10}", nil, true},
		"longer patience":   {"{failure_ratio: 1, timeout_seconds: 11}", nil, false},
		"progress":          {"{failure_ratio: 1, timeout_seconds: 10}", func(k *caller) { k.c.Progress() }, false},
		"a person is asked": {"{failure_ratio: 1, timeout_seconds: 10}", func(k *caller) { k.c.Admit(Request{Call: &stage.Call{}, From: stage.Server}, k.l) }, false},
		"a person has agreed": {"{failure_ratio: 1, timeout_seconds: 10}", func(k *caller) {
			asked := &stage.Call{}
			k.c.Admit(Request{Call: asked, From: stage.Server}, k.l)
			k.c.Ended(asked, stage.Answered)
		}, false},
	} {
		for how, end := range map[string]bool{"given up": true, "given up in silence": false} {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := &caller{t, New(Quota{}), parse(t, test.limits)}
					var calls []*stage.Call
					for range inARow {
						call, _ := k.call("a")
						calls = append(calls, call)
					}
					pass(5 * time.Second)
					if test.during != nil {
						test.during(k)
					}
					pass(5 * time.Second)
					for _, call := range calls {
						if end {
							k.c.Ended(call, stage.Cancelled)
						}
					}
					if call, _ := k.call("a"); (call == nil) != test.opens {
						t.Errorf("open: %v", call == nil)
					}
				})
			})
		}
	}
}

func TestManyCallAtOnce(t *testing.T) {
	c, l := New(Quota{}), parse(t, "{calls_per_minute: 1000, concurrency: 8, per_tool: {a: 500}, failure_ratio: 0.5}")
	var group sync.WaitGroup
	var mu sync.Mutex
	let := 0
	for range 8 {
		group.Go(func() {
			for range 200 {
				call := &stage.Call{}
				if _, ok := c.Admit(Request{Call: call, Server: "s", Tool: "a"}, l); ok {
					mu.Lock()
					let++
					mu.Unlock()
				}
				c.Progress()
				c.Ended(call, stage.Answered)
			}
		})
	}
	group.Wait()
	if let != 500 || len(c.flying) != 0 || c.open != [2]int{} {
		t.Errorf("%d were let in, %d are in flight", let, len(c.flying))
	}
}

func TestTheVariablesOfTheFirstGateway(t *testing.T) {
	minute := time.Minute
	for _, test := range []struct {
		environment string
		quota       Quota
		unused, err string
	}{
		{"", Quota{}, "", ""},
		{"MCP_CIRCUIT_BREAKER=true", Quota{100, minute}, "", ""},
		{"MCP_CIRCUIT_BREAKER=False MCP_MAX_CALLS_PER_TOOL=5", Quota{}, "", ""},
		{"MCP_MAX_CALLS_PER_TOOL=5", Quota{5, minute}, "", ""},
		{"MCP_CALL_WINDOW_SECONDS=10", Quota{100, 10 * time.Second}, "", ""},
		{"MCP_MAX_CALLS_PER_TOOL=5 MCP_CALL_WINDOW_SECONDS=86400", Quota{5, 24 * time.Hour}, "", ""},
		{"MCP_HITL_TIMEOUT_SECONDS=x MCP_HITL_PORT=1", Quota{}, "MCP_HITL_PORT MCP_HITL_TIMEOUT_SECONDS", ""},
		{"MCP_POLICY_FILE=", Quota{}, "", "MCP_POLICY_FILE is empty"},
		{"MCP_CIRCUIT_BREAKER=", Quota{}, "", `MCP_CIRCUIT_BREAKER is ""`},
		{"MCP_CIRCUIT_BREAKER=off", Quota{}, "", `MCP_CIRCUIT_BREAKER is "off"`},
		{"MCP_CIRCUIT_BREAKER=false MCP_MAX_CALLS_PER_TOOL=x", Quota{}, "", `MCP_MAX_CALLS_PER_TOOL is "x"`},
		{"MCP_MAX_CALLS_PER_TOOL=", Quota{}, "", `MCP_MAX_CALLS_PER_TOOL is ""`},
		{"MCP_MAX_CALLS_PER_TOOL=-1", Quota{}, "", `MCP_MAX_CALLS_PER_TOOL is "-1"`},
		{"MCP_MAX_CALLS_PER_TOOL=0", Quota{}, "", "from 1 to 1000000"},
		{"MCP_MAX_CALLS_PER_TOOL=1e9", Quota{}, "", `MCP_MAX_CALLS_PER_TOOL is "1e9"`},
		{"MCP_MAX_CALLS_PER_TOOL=1000000000", Quota{}, "", "from 1 to 1000000"},
		{"MCP_CALL_WINDOW_SECONDS=86401", Quota{}, "", "MCP_CALL_WINDOW_SECONDS"},
		{"MCP_CALL_WINDOW_SECONDS=+5", Quota{}, "", "MCP_CALL_WINDOW_SECONDS"},
	} {
		q, unused, err := FromEnvironment(strings.Fields(test.environment))
		if q != test.quota || strings.Join(unused, " ") != test.unused || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %+v, %v, %v", test.environment, q, unused, err)
		}
	}
}

// FuzzVariables holds that a variable is an error, or a quota within the bounds.
func FuzzVariables(f *testing.F) {
	for _, seed := range []string{"5", "", "-1", "1e9", "٣", "0x10", "true"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, calls, window string) {
		q, _, err := FromEnvironment([]string{CallsVariable + "=" + calls, WindowVariable + "=" + window})
		if err == nil && (q.Calls < 1 || q.Calls > maxCalls || q.Span < time.Second || q.Span > maxWindow*time.Second) {
			t.Errorf("%q, %q: %+v", calls, window, q)
		}
	})
}
