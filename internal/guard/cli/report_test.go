// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"sentinel/internal/guard/record"
	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// recorded gives a test a home with the record of a session AAAA: a call of read, and one of write
// that was refused.
func recorded(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	recordSession(t, "AAAA")
}

// recordSession records a session of files with a call of read, and one of write that was refused.
func recordSession(t *testing.T, session string) {
	t.Helper()
	recordCalls(t, session, false,
		recordedCall{tool: "read", arguments: `{"a":1}`},
		recordedCall{tool: "write", arguments: `{"a":1}`, refused: stage.PolicyBlocks, rule: "no-writes"})
}

// A recordedCall passed, unless it has a code.
type recordedCall struct {
	tool, arguments string
	refused         stage.Code
	rule            string
}

// recordCalls records a session of files.
func recordCalls(t *testing.T, session string, values bool, calls ...recordedCall) {
	t.Helper()
	l := record.Open(record.Options{
		Dir: record.Dir(), Session: session, Server: "files", Command: []string{"server"},
		BestEffort: func() bool { return false }, Values: func() bool { return values }, Note: func(text string) { t.Error(text) },
	})
	for n, c := range calls {
		m := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":` + c.arguments + `}}`)).Messages[0]
		asked := &stage.Message{Message: &m, Call: &stage.Call{ID: m.ID, Method: m.Method, Number: n + 1, Name: c.tool}}
		if c.refused != "" {
			l.Refused(asked, stage.Refusal{Code: c.refused, Rule: c.rule, Reason: "No.", Event: session + "-1"})
			continue
		}
		if err := l.Begin(asked); err != nil {
			t.Fatal(err)
		}
		l.End(stage.Client, asked.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{}`)})
	}
	l.Close(0)
}

// Whatever names servers and tools have, what is listed fits a terminal.
func TestListsFitATerminal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, args := range []string{"calls", "events", "report"} {
		if _, text, _ := run(t, args); strings.Count(text, "\n") > 2 || !strings.Contains(text, " recorded") {
			t.Errorf("%s of nothing: %s", args, text)
		}
	}
	long := strings.Repeat("long-name", 9)
	recordCalls(t, "AAAA", false, recordedCall{tool: long, arguments: `{"a":1}`}, recordedCall{tool: long, arguments: `{"a":1}`, refused: stage.TooLarge, rule: long}, recordedCall{tool: "t", arguments: `{}`, refused: stage.Code("CONTEXT_EXHAUSTED"), rule: "r"})
	for _, args := range []string{"calls", "events", "report", "status"} {
		_, text, _ := run(t, args)
		for line := range strings.Lines(text) {
			if len([]rune(line)) > width+1 {
				t.Errorf("%s: a line of %d columns: %s", args, len([]rune(line))-1, line)
			}
		}
	}
	if _, text, _ := run(t, "calls"); !strings.Contains(text, "refused CONTEXT_EXHAUSTED\n") {
		t.Error(text)
	}
}

func TestReport(t *testing.T) {
	recorded(t)
	status, text, stderr := run(t, "report")
	for _, want := range []string{"1 session, 2 calls, 1 refusal", "AAAA", "with status 0", "read", "refused 1", "no-writes"} {
		if status != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, text, stderr)
		}
	}
	for line := range strings.Lines(text) {
		if len([]rune(line)) > width+1 {
			t.Errorf("a line is wider than a terminal: %s", line)
		}
	}
	_, raw, _ := run(t, "report", "--session", "AAAA", "--json")
	var sum record.Summary
	if err := json.Unmarshal([]byte(raw), &sum); err != nil || sum.Calls != 2 || sum.Refusals[0].Rule != "no-writes" {
		t.Errorf("%v %s", err, raw)
	}
}

func TestReportSaysWhatItCannotDo(t *testing.T) {
	recorded(t)
	for says, args := range map[string][]string{
		"no session ZZZZ is recorded": {"--session", "ZZZZ"},
		"leave out --since":           {"--session", "AAAA", "--since", "1h"},
		"--since":                     {"--since", "when"},
	} {
		if status, _, stderr := run(t, append([]string{"report"}, args...)...); status != StatusUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if status, text, _ := run(t, "report"); status != 0 || !strings.HasPrefix(text, "Nothing is recorded since") {
		t.Errorf("without a record: status %d, %s", status, text)
	}
}
