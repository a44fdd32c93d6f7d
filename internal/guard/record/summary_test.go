// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
)

// numbered is a call with its number in the session.
func numbered(n int, tool string) *stage.Message {
	m := message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1}}}`)
	m.Call.Number, m.Call.Name = n, tool
	return m
}

func TestTheSummaryOfASession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	begin(t, dir, "BBBB").Close(0)
	l := begin(t, dir, "AAAA")
	hello := message(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"probe","version":"2"}}}`)
	hello.Call.Number, hello.Call.Name, hello.Revision = 1, "", "2025-11-25"
	if err := l.Begin(hello); err != nil {
		t.Fatal(err)
	}
	for n, took := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 2 * time.Millisecond} {
		m := numbered(n+2, "read")
		if err := l.Begin(m); err != nil {
			t.Fatal(err)
		}
		l.End(stage.Client, m.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{"content":[]}`), Took: took})
	}
	l.Refused(numbered(5, "write"), stage.Refusal{Code: stage.PolicyBlocks, Rule: "no-writes", Reason: "No."})
	l.Flagged(numbered(6, "read"), []string{"odd"}, "AAAA-2")
	l.Violated(stage.Server, relay.Noise, []byte("hello"))
	l.Close(3)

	sum, err := SumSession(t.Context(), dir, "AAAA")
	if err != nil {
		t.Fatal(err)
	}
	of := sum.Sessions[0]
	if len(sum.Sessions) != 1 || of.Start == nil || of.End == nil || of.End.Before(*of.Start) || *of.ExitStatus != 3 || of.Revision != "2025-11-25" || of.Calls != 5 || of.Refusals != 1 || of.Violations != 1 {
		t.Errorf("%+v", sum.Sessions)
	}
	want := []ToolSum{
		{"files", "tools/call", "read", 3, map[string]int{"ok": 3}},
		{"files", "initialize", "", 1, map[string]int{"pending": 1}},
		{"files", "tools/call", "write", 1, map[string]int{"refused": 1}},
	}
	if d := cmp.Diff(want, sum.Tools); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]RefusalSum{{"POLICY_BLOCKED", "no-writes", 1}}, sum.Refusals); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]map[string]int{{"ok": 3, "pending": 1, "refused": 1}, {"odd": 1}, {"noise": 1}, {"low": 2, "medium": 1}},
		[]map[string]int{sum.Outcomes, sum.Flags, sum.Violations, sum.Severities}); d != "" {
		t.Error(d)
	}
	var slow []float64
	for _, s := range sum.Slowest {
		slow = append(slow, s.DurationMS)
	}
	if !slices.Equal(slow, []float64{5, 2, 1}) || sum.ResultBytes != 3*14 || sum.ArgumentBytes != 4*7+int64(len(hello.Params)) {
		t.Errorf("slowest %v, %d bytes of results, %d of arguments", slow, sum.ResultBytes, sum.ArgumentBytes)
	}
}

func TestTheSummarySinceATime(t *testing.T) {
	dir, _ := written(t)
	all, err := SumSince(t.Context(), dir, time.Now().Add(-time.Hour))
	if err != nil || all.SessionsTotal != 2 || all.Calls != 6 || !slices.Equal(all.Servers, []string{"files"}) || all.Sessions[0].SessionID != "AAAA" {
		t.Errorf("%v %+v", err, all)
	}
	none, err := SumSince(t.Context(), dir, time.Now().Add(time.Hour))
	if err != nil || none.SessionsTotal != 0 || none.Calls != 0 {
		t.Errorf("%v %+v", err, none)
	}
	last := all.Sessions[1].Start
	part, err := SumSince(t.Context(), dir, last.Add(time.Microsecond))
	if err != nil || part.SessionsTotal != 1 || part.Sessions[0].SessionID != "BBBB" || part.Sessions[0].Start == nil {
		t.Errorf("%v %+v: a session that began before is there, with its beginning", err, part)
	}
}

// A server may make up names without end.
func TestASummaryIsBounded(t *testing.T) {
	s := newSums(time.Time{})
	for n := range maxKinds + 50 {
		name := string(rune(0x4e00+n%20000)) + string(rune(0x4e00+n/20000))
		s.add(Event{Seq: 1, Type: Call, Timestamp: time.Unix(1, 0), SessionID: name, ToolName: name, Outcome: Pending, Call: n})
		s.add(Event{Seq: 1, Type: Call, Timestamp: time.Unix(1, 0), SessionID: name, ToolName: name, Outcome: "ok", Call: n})
	}
	sum := s.summary()
	if sum.ToolsTotal != maxKinds+1 || sum.SessionsTotal != maxKinds+1 || sum.Calls != maxKinds+50 || sum.Tools[0].ToolName != others || sum.Tools[0].Calls != 50 {
		t.Errorf("%d tools, %d sessions, %d calls, %+v", sum.ToolsTotal, sum.SessionsTotal, sum.Calls, sum.Tools[0])
	}
}
