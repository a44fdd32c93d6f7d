// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/guard/stage"
	"sentinel/internal/testenv"
)

// heard writes down what it is told, and cannot record what is called "unrecorded".
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *heard) said() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

func (h *heard) Begin(m *stage.Message) error {
	if m.Call.Name == "unrecorded" {
		return errors.New("no space left")
	}
	h.say("begin %s %s %s", m.From, m.Call.ID, m.Call.Method)
	return nil
}

func (h *heard) End(from stage.Side, c *stage.Call, e End) {
	h.say("end %s %s %s %d %s", from, c.ID, e.Outcome, e.Code, e.Answer)
}

func (h *heard) Refused(m *stage.Message, r stage.Refusal) {
	id := "-"
	if m.Call != nil {
		id = string(m.Call.ID)
	}
	_, number, _ := strings.Cut(r.Event, "-")
	h.say("refused %s %s %s %s", m.From, id, r.Code, number)
}

func (h *heard) Flagged(m *stage.Message, flags []string, event string) {
	_, number, _ := strings.Cut(event, "-")
	h.say("flagged %s %v %s", m.From, flags, number)
}

func (h *heard) Violated(from stage.Side, v Violation, line []byte) {
	h.say("violated %s %s %s", from, v, line)
}

func TestAnObserverHearsHowEachRequestEnds(t *testing.T) {
	h := &heard{}
	judge := stage.Stage{Name: "names", Judge: func(m *stage.Message) (stage.Verdict, error) {
		if m.Call == nil || m.Answer() {
			return stage.Verdict{}, nil
		}
		switch m.Call.Name {
		case "forbidden":
			return stage.Blocked(stage.Refusal{Code: stage.PolicyBlocks, Rule: "r", Reason: "It is forbidden.", Fix: "Do not."}), nil
		case "odd":
			return stage.Verdict{Action: stage.Review, Flags: []string{"odd"}}, nil
		}
		return stage.Verdict{}, nil
	}}
	g := newRig(t, Options{Stages: []stage.Stage{judge}, Observer: h, Session: "S"})
	passes := func(id, name string) {
		g.client.line(call(id, name, "{}"))
		g.server.wants(call(id, name, "{}"))
	}
	answers := func(line string) {
		g.server.line(line)
		g.client.wants(line)
	}
	passes("1", "a")
	answers(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	passes("2", "odd")
	answers(`{"jsonrpc":"2.0","id":2,"result":{"isError":true}}`)
	passes("3", "a")
	answers(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no"}}`)
	g.client.line(call("4", "forbidden", "{}"))
	g.client.refused("4")
	g.client.line(call("5", "unrecorded", "{}"))
	if got := g.client.refused("5"); got != string(stage.GuardFailed) {
		t.Error(got)
	}
	passes("6", "a")
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`
	g.client.line(cancel)
	g.server.wants(cancel)
	answers(`{"jsonrpc":"2.0","id":6,"result":{}}`)
	passes("7", "a")
	g.server.line(`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`)
	g.client.refused("7")
	g.server.line("hello")
	g.server.line(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	testenv.WaitFor(t, "the violations are heard", func() bool { return strings.Contains(strings.Join(h.said(), "\n"), "unasked_answer") })
	passes("8", "a")
	g.server.w.Close()
	g.client.refused("8")
	want := []string{
		"begin client 1 tools/call", `end client 1 ok 0 {"content":[]}`,
		"begin client 2 tools/call", "flagged client [odd] 1", `end client 2 is_error 0 {"isError":true}`,
		"begin client 3 tools/call", `end client 3 error -32603 {"code":-32603,"message":"no"}`,
		"refused client 4 POLICY_BLOCKED 2",
		"refused client 5 GUARD_FAILED 3",
		"begin client 6 tools/call", "end client 6 cancelled 0 ",
		"begin client 7 tools/call", "refused server 7 MESSAGE_MALFORMED 4", "end client 7 refused 0 ",
		"violated server noise hello\n", `violated server unasked_answer {"jsonrpc":"2.0","id":99,"result":{}}`,
		"begin client 8 tools/call", "end client 8 server_gone 0 ", "refused client 8 SERVER_GONE 5",
	}
	testenv.WaitFor(t, "all is heard", func() bool { return len(h.said()) >= len(want) })
	if diff := cmp.Diff(want, h.said()); diff != "" {
		t.Error(diff)
	}
}
