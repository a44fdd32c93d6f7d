// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"sentinel/internal/guard/stage"
	"sentinel/internal/guard/stages"
	"sentinel/internal/testenv"
)

// ends notes how the requests of a session end.
type ends struct {
	mu   sync.Mutex
	seen map[*stage.Call]bool
	all  []string
}

func (e *ends) stage() stage.Stage {
	e.seen = map[*stage.Call]bool{}
	return stage.Stage{
		Name: "ends",
		Judge: func(m *stage.Message) (stage.Verdict, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if m.Request() {
				e.seen[m.Call] = true
			}
			return stage.Verdict{}, nil
		},
		Ended: func(c *stage.Call, how stage.End) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.all = append(e.all, fmt.Sprintf("%s %d %v", c.ID, how, e.seen[c]))
		},
	}
}

func (e *ends) are(t *testing.T, want ...string) {
	t.Helper()
	testenv.WaitFor(t, fmt.Sprintf("the ends are told: %v", want), func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.Equal(e.all, want)
	})
}

func end(id string, how stage.End) string { return fmt.Sprintf("%s %d true", id, how) }

// A stage that counts what is in flight must not lose a call, nor count one for ever.
func TestAStageIsToldOnceHowARequestEnds(t *testing.T) {
	var e ends
	decide := make(chan stage.Verdict)
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), e.stage(), asking(decide))})
	answers := []struct{ id, answer, gets string }{
		{"1", `{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`, ""},
		{"2", `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"m"}}`, ""},
		{"3", `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"m"}}`, ""},
		{"4", `{"jsonrpc":"2.0","id":4,"result":{"a":1,"a":2}}`, "MESSAGE_MALFORMED"},
		{"5", `[{"jsonrpc":"2.0","id":5,"result":{}}]`, "MESSAGE_MALFORMED"},
	}
	for _, a := range answers {
		g.withAsked(a.id)
		g.server.send(a.answer + "\n")
		if a.gets == "" {
			g.client.wants(a.answer)
		} else if code := g.client.refused(a.id); code != a.gets {
			t.Errorf("%s: code %s", a.id, code)
		}
	}
	g.client.line(call("6", "slow", `{}`))
	decide <- no
	g.client.refused("6")
	g.client.line(call("7", "slow", `{}`))
	g.client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n")
	g.server.read()
	want := []string{end("1", stage.Answered), end("2", stage.Answered), end("3", stage.Failed), end("4", stage.Unreadable), end("5", stage.Unreadable), end("6", stage.Refused), end("7", stage.Refused)}
	e.are(t, want...)

	g.withAsked("8")
	g.client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}` + "\n")
	g.server.read()
	want = append(want, end("8", stage.Cancelled))
	e.are(t, want...)
	g.server.send(`{"jsonrpc":"2.0","id":8,"result":{}}` + "\n") // late, and not told of again
	g.client.read()
	g.withAsked("9")
	g.server.w.Close()
	g.client.refused("9")
	e.are(t, append(want, end("9", stage.Gone))...)
}

// A call that is withdrawn while one stage waits must not be let in by the next and stay.
func TestTheEndOfWhatWasHeldComesAfterItsJudgement(t *testing.T) {
	var e ends
	waits := stage.Stage{Name: "waits", Judge: func(m *stage.Message) (stage.Verdict, error) {
		if !m.Request() {
			return stage.Verdict{}, nil
		}
		return stage.Verdict{Later: func(ctx context.Context) (stage.Verdict, error) {
			<-ctx.Done()
			return stage.Verdict{}, nil // as if it had been allowed at that very moment
		}}, nil
	}}
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), waits, e.stage())})
	g.client.line(call("1", "a", `{}`))
	g.client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	g.server.read()
	e.are(t, end("1", stage.Refused))
}

func TestAStageThatPanicsAtAnEndHoldsNothingUp(t *testing.T) {
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), stage.Stage{
		Name:  "broken",
		Judge: func(*stage.Message) (stage.Verdict, error) { return stage.Verdict{}, nil },
		Ended: func(*stage.Call, stage.End) { panic("a cause") },
	})})
	g.lives()
	g.lives()
}
