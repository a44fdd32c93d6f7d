// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"sentinel/internal/guard/stage"
	"sentinel/internal/guard/stages"
	"sentinel/internal/testenv"
)

// planted panics once at the place that its name says, when the test has it do so.
type planted struct {
	io.WriteCloser
	place atomic.Value
}

func (p *planted) at(place string) {
	if p.place.CompareAndSwap(place, "") {
		panic("planted at " + place)
	}
}

func (p *planted) Begin(*stage.Message) error               { p.at("begin"); return nil }
func (p *planted) End(stage.Side, *stage.Call, End)         { p.at("end") }
func (p *planted) Refused(*stage.Message, stage.Refusal)    { p.at("refused") }
func (p *planted) Flagged(*stage.Message, []string, string) { p.at("flagged") }
func (p *planted) Violated(stage.Side, Violation, []byte)   { p.at("violated") }

func (p *planted) Write(b []byte) (int, error) {
	p.at("write")
	return p.WriteCloser.Write(b)
}

// judge has what is called by the name of an action treated so.
func (p *planted) judge(m *stage.Message) (stage.Verdict, error) {
	if m.Call == nil || m.Answer() {
		return stage.Verdict{}, nil
	}
	switch m.Call.Name {
	case "flagged":
		return stage.Verdict{Action: stage.Review, Flags: []string{"odd"}}, nil
	case "refused":
		return no, nil
	}
	return stage.Verdict{}, nil
}

func newPlanted(t *testing.T) (*rig, *planted, chan stage.Verdict) {
	p := &planted{}
	p.place.Store("")
	decide := make(chan stage.Verdict)
	judges := stage.Stage{Name: "planted", Judge: p.judge, Ended: func(*stage.Call, stage.End) { p.at("ended") }}
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), judges, asking(decide)), Observer: p})
	return g, p, decide
}

// fails checks that a request is answered by the guard that failed at it.
func (s side) fails(id string) {
	s.t.Helper()
	if code := s.refused(id); code != string(stage.GuardFailed) {
		s.t.Errorf("%s: code %s", id, code)
	}
}

// clean checks that nothing is in flight or waits, and that the session goes on.
func (g *rig) clean() {
	g.t.Helper()
	g.lives()
	for _, p := range g.relay.pumps {
		p.asked.mu.Lock()
		if len(p.asked.entries) != 0 || p.asked.awaited != 0 {
			g.t.Errorf("%d requests are in flight, %d are waited for", len(p.asked.entries), p.asked.awaited)
		}
		p.asked.mu.Unlock()
	}
	testenv.WaitFor(g.t, "nothing is held", func() bool { return len(g.relay.held) == 0 })
}

func TestAPanicAtARequestRefusesIt(t *testing.T) {
	for _, place := range []string{"begin", "flagged", "refused"} {
		t.Run(place, func(t *testing.T) {
			g, p, _ := newPlanted(t)
			p.place.Store(place)
			g.client.line(call("1", place, `{}`))
			g.client.fails("1")
			g.clean()
		})
	}
}

func TestAPanicAtWhatWasHeldRefusesIt(t *testing.T) {
	for _, place := range []string{"begin", "refused"} {
		t.Run(place, func(t *testing.T) {
			g, p, decide := newPlanted(t)
			g.client.line(call("1", "slow", `{}`))
			p.place.Store(place)
			decide <- map[string]stage.Verdict{"refused": no}[place]
			g.client.fails("1")
			g.clean()
		})
	}
}

func TestAPanicAtAnAnswerTakesItsPlace(t *testing.T) {
	for answer, place := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:            "end",
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`: "refused",
		`[{"jsonrpc":"2.0","id":1,"result":{}}]`:          "refused",
	} {
		g, p, _ := newPlanted(t)
		g.withAsked("1")
		p.place.Store(place)
		g.server.send(answer + "\n")
		g.client.fails("1")
		g.clean()
	}
}

func TestAPanicAtAnEndedHookDoesNotKeepTheAnswer(t *testing.T) {
	g, p, _ := newPlanted(t)
	g.withAsked("1")
	p.place.Store("ended")
	g.server.send(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	g.clean()
}

func TestAPanicAtALineNobodyWaitsForDropsIt(t *testing.T) {
	g, p, _ := newPlanted(t)
	p.place.Store("violated")
	g.server.line("noise")
	g.clean()
	p.place.Store("violated")
	g.server.line(`{"jsonrpc":"2.0","id":77,"result":{}}`)
	g.clean()
}

// A cancellation that the guard fails at is not passed on, and what it cancels is not waited for.
func TestAPanicAtACancellation(t *testing.T) {
	g, p, _ := newPlanted(t)
	g.withAsked("1")
	p.place.Store("end")
	g.client.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	g.lives()
	if g.relay.pumps[stage.Client].asked.awaits() {
		t.Error("it is waited for")
	}
}

// The request that has the id is not touched by what is refused because of it.
func TestAPanicAtASecondUseOfAnID(t *testing.T) {
	g, p, _ := newPlanted(t)
	g.withAsked("1")
	p.place.Store("refused")
	g.client.line(call("1", "a", `{}`))
	g.client.fails("1")
	g.server.send(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	g.clean()
}

func TestAPanicAtALineThatIsTooLong(t *testing.T) {
	p := &planted{}
	p.place.Store("refused")
	g := newRig(t, Options{Observer: p, MaxLine: 1000})
	g.client.line(call("1", "a", `{"x":"`+strings.Repeat("x", 2000)+`"}`))
	g.client.fails("1")
	g.clean()
}

func TestAPanicAtOneOfABatchRefusesThatOne(t *testing.T) {
	g, p, _ := newPlanted(t)
	g.agree(revisionWithBatches)
	p.place.Store("flagged")
	g.client.line("[" + call("1", "flagged", `{}`) + "," + call("2", "a", `{}`) + "]")
	g.server.wants("[" + call("2", "a", `{}`) + "]")
	if got := g.client.read(); !strings.Contains(got, `"id":1,`) || !strings.Contains(got, `"GUARD_FAILED"`) || strings.Contains(got, `"id":2`) {
		t.Error(got)
	}
	g.server.send(`{"jsonrpc":"2.0","id":2,"result":{}}` + "\n")
	g.client.read()
	g.clean()
}

func TestAWriteThatPanicsIsAnswered(t *testing.T) {
	for _, to := range []stage.Side{stage.Server, stage.Client} {
		g, p, _ := newPlanted(t)
		o := g.relay.pumps[to.Other()].to
		if to == stage.Client {
			g.withAsked("1")
		}
		p.place.Store("write")
		o.writing.Lock()
		p.WriteCloser, o.w = o.w, p
		o.writing.Unlock()
		if to == stage.Server {
			g.client.line(call("1", "a", `{}`))
		} else {
			g.server.line(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			g.client.wants("") // the end of what may have been written
		}
		g.client.fails("1")
		if to == stage.Server {
			g.client.send(ping + "\n")
			g.server.wants("")
			g.server.wants(ping)
			g.server.send(`{"jsonrpc":"2.0","id":9000,"result":{}}` + "\n")
			g.client.read()
		}
		g.clean()
	}
}

func TestAPanicAtTheEndOfTheServerAnswersAll(t *testing.T) {
	g, p, _ := newPlanted(t)
	g.withAsked("1")
	ask := `{"jsonrpc":"2.0","id":5,"method":"roots/list"}`
	g.server.send(ask + "\n")
	g.client.wants(ask)
	p.place.Store("end")
	g.server.w.Close()
	g.client.fails("1")
	<-g.served
}
