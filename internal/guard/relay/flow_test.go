// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"sentinel/internal/guard/stage"
	"sentinel/internal/guard/stages"
	"sentinel/internal/testenv"
)

// asking is a stage that waits for somebody who decides about calls of the tool "slow".
func asking(decide chan stage.Verdict) stage.Stage {
	return stage.Stage{Name: "asking", Judge: func(m *stage.Message) (stage.Verdict, error) {
		if !m.Request() || m.Call.Name != "slow" {
			return stage.Verdict{}, nil
		}
		return stage.Verdict{Later: func(ctx context.Context) (stage.Verdict, error) {
			select {
			case v := <-decide:
				return v, nil
			case <-ctx.Done():
				return stage.Verdict{}, ctx.Err()
			}
		}}, nil
	}}
}

var no = stage.Blocked(stage.Refusal{Code: stage.PolicyBlocks, Rule: "r", Reason: "No.", Fix: "Do something else."})

func TestWhatIsHeldHoldsNothingElse(t *testing.T) {
	decide := make(chan stage.Verdict)
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), asking(decide))})
	g.client.line(call("1", "slow", `{}`))
	g.lives()
	g.withAsked("2")
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	g.server.send(progress + "\n")
	g.client.wants(progress)
	g.client.send(call("1", "other", `{}`) + "\n")
	g.client.refused("1") // it is in flight while it is held
	g.server.line(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	decide <- stage.Verdict{}
	g.server.wants(call("1", "slow", `{}`)) // the answer before was to nothing that had been asked
	g.server.send(`{"jsonrpc":"2.0","id":1,"result":{"a":1}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`)

	g.client.line(call("3", "slow", `{}`))
	decide <- no
	if code := g.client.refused("3"); code != "POLICY_BLOCKED" {
		t.Errorf("code %s", code)
	}
}

func TestACancellationWithdrawsWhatIsHeld(t *testing.T) {
	decide := make(chan stage.Verdict)
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), asking(decide))})
	g.client.line(call("1", "slow", `{}`))
	cancelled := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	g.client.send(cancelled + "\n")
	g.server.wants(cancelled)
	testenv.WaitFor(t, "nothing is held", func() bool { return len(g.relay.held) == 0 })
	g.lives() // neither was the call passed on nor answered
	g.withAsked("1")
}

func TestALateAnswerToWhatWasCancelledPasses(t *testing.T) {
	g := newRig(t, Options{})
	g.withAsked("1")
	cancelled := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	g.client.send(cancelled + "\n")
	g.server.wants(cancelled)
	g.server.send(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

func TestABatchWaitsForItsElements(t *testing.T) {
	decide := make(chan stage.Verdict)
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), asking(decide))})
	g.agree("2025-03-26")
	batch := "[" + call("1", "slow", `{}`) + "," + call("2", "quick", `{}`) + "," + call("3", "slow", `{}`) + "]"
	g.client.line(batch)
	g.lives()
	decide <- stage.Verdict{}
	decide <- stage.Verdict{}
	g.server.wants(batch)
}

func TestAStageThatFailsBlocksThatMessageAlone(t *testing.T) {
	failing := stage.Stage{Name: "failing", Judge: func(m *stage.Message) (stage.Verdict, error) {
		switch {
		case m.Call == nil || m.Answer():
		case m.Call.Name == "error":
			return stage.Verdict{}, errors.New("a cause")
		case m.Call.Name == "panic":
			panic("a cause")
		case m.Call.Name == "later":
			return stage.Verdict{Later: func(context.Context) (stage.Verdict, error) { panic("a cause") }}, nil
		}
		return stage.Verdict{}, nil
	}}
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), failing)})
	for _, name := range []string{"error", "panic", "later"} {
		g.client.line(call("1", name, `{}`))
		if code := g.client.refused("1"); code != "GUARD_FAILED" {
			t.Errorf("%s: code %s", name, code)
		}
		g.lives()
	}
}

func TestABlockedAnswerBecomesARefusal(t *testing.T) {
	noResults := stage.Stage{Name: "results", Judge: func(m *stage.Message) (stage.Verdict, error) {
		if m.Answer() && m.Call.Name == "read" {
			return no, nil
		}
		return stage.Verdict{}, nil
	}}
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), noResults)})
	g.withAsked("5")
	g.server.send(`{"jsonrpc":"2.0","id":5,"result":{}}` + "\n")
	if code := g.client.refused("5"); code != "POLICY_BLOCKED" {
		t.Errorf("code %s", code)
	}
	g.lives()
}

func TestAServerThatEndsLeavesNothingOpen(t *testing.T) {
	decide := make(chan stage.Verdict)
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), asking(decide))})
	g.withAsked("1")
	g.withAsked(`"a"`)
	g.client.line(call("2", "slow", `{}`))
	g.client.line(ping[:40] + "\r") // malformed, to know that the call before it was read
	g.client.refused("null")
	g.server.w.Close()
	open := map[string]bool{"1": true, `"a"`: true, "2": true}
	for range 3 {
		id, code, err := refusalIn(g.client.read())
		if err != nil || !open[id] || code != "SERVER_GONE" {
			t.Errorf("id %s, code %s, %v", id, code, err)
		}
		delete(open, id)
	}
	<-g.served
}

func TestALastLineWithoutAnEndArrivesAsItCame(t *testing.T) {
	g := newRig(t, Options{})
	go func() {
		io.WriteString(g.client.w, ping)
		g.client.w.Close()
	}()
	if whole, err := io.ReadAll(g.server.r); string(whole) != ping || err != nil {
		t.Errorf("%q, %v", whole, err)
	}
	go func() {
		io.WriteString(g.server.w, `{"jsonrpc":"2.0","method":"notifications/x"}`)
		g.server.w.Close()
	}()
	lines, err := io.ReadAll(g.client.r)
	if got := strings.Split(string(lines), "\n"); err != nil || len(got) != 3 || !strings.Contains(got[1], "SERVER_GONE") {
		t.Errorf("%q, %v", lines, err)
	}
}

func TestBytesMayComeOneByOne(t *testing.T) {
	g := newRig(t, Options{})
	go io.Copy(g.client.w, iotest.OneByteReader(strings.NewReader(call("1", "a", `{}`)+"\r\n"+ping+"\n")))
	g.server.wants(call("1", "a", `{}`) + "\r")
	g.server.wants(ping)
}

func TestBothDirectionsMayBeFullAtOnce(t *testing.T) {
	const count, size = 200, 100_000
	g := newRig(t, Options{})
	line := func(i int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d,"x":"%s"}}`, i, strings.Repeat("x", size))
	}
	write := func(s side) {
		for i := range count {
			io.WriteString(s.w, line(i)+"\n")
		}
	}
	read := func(s side, done chan error) {
		for i := range count {
			if got, err := s.r.ReadString('\n'); err != nil || got != line(i)+"\n" {
				done <- fmt.Errorf("line %d: %w, %.100s", i, err, got)
				return
			}
		}
		done <- nil
	}
	go write(g.client)
	go write(g.server)
	done := make(chan error)
	go read(g.client, done)
	go read(g.server, done)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A client that does not read holds up the server alone, even if what it sends is refused.
func TestAClientThatDoesNotReadIsStillRead(t *testing.T) {
	g := newRig(t, Options{})
	g.server.send(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x"}`+"\n", 100))
	const count = 500
	go func() {
		for range count {
			io.WriteString(g.client.w, "hello\n")
		}
		io.WriteString(g.client.w, ping+"\n")
	}()
	g.server.wants(ping)
	refused := 0
	for range count + 100 {
		if strings.Contains(g.client.read(), "MESSAGE_MALFORMED") {
			refused++
		}
	}
	if refused != count {
		t.Errorf("%d refusals, want %d", refused, count)
	}
}

func TestMegabytesPass(t *testing.T) {
	g := newRig(t, Options{})
	text := strings.Repeat(`a\n\u00e4"'`[:9], 1_200_000)
	ask := call("1", "write", `{"text":"`+text+`"}`)
	g.client.send(ask + "\n")
	if got := g.server.read(); got != ask {
		t.Errorf("%d bytes became %d", len(ask), len(got))
	}
	answer := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
	g.server.send(answer + "\n")
	if got := g.client.read(); got != answer {
		t.Errorf("%d bytes became %d", len(answer), len(got))
	}
	g.lives()
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("a session", func(t *testing.T) {
		g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), asking(make(chan stage.Verdict)))})
		g.withAsked("1")
		g.client.line(call("2", "slow", `{}`))
		g.client.send("hello\n")
		g.client.refused("null")
		g.server.w.Close()
		g.client.read()
		g.client.read()
	})
	testenv.WaitFor(t, "the goroutines of the session are gone", func() bool { return runtime.NumGoroutine() <= before })
}
