// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/record"
	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// recordValues records calls of read, with one path each, of which the last was refused.
func recordValues(t *testing.T, paths ...string) {
	t.Helper()
	l := record.Open(record.Options{
		Dir: record.Dir(), Session: "VVVV", Server: "files", BestEffort: func() bool { return false },
		Values: func() bool { return true }, Note: func(text string) { t.Error(text) },
	})
	for n, path := range paths {
		m := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"` + path + `"}}}`)).Messages[0]
		asked := &stage.Message{Message: &m, Call: &stage.Call{ID: m.ID, Method: m.Method, Number: n + 1, Name: "read"}}
		if n == len(paths)-1 {
			l.Refused(asked, stage.Refusal{Code: stage.PolicyBlocks, Rule: "old", Reason: "No.", Event: "VVVV-1"})
			continue
		}
		if err := l.Begin(asked); err != nil {
			t.Fatal(err)
		}
		l.End(stage.Client, asked.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{}`)})
	}
	l.Close(0)
}

func TestRulesAreTriedOnRecordedCalls(t *testing.T) {
	recorded(t) // two calls without values
	recordValues(t, "/p/a", "/etc/shadow", "/p/b")
	rules := filepath.Join(t.TempDir(), "new.yaml")
	text := "rules: [{name: below-p, tools: ['files:read'], conditions: [{argument: path, as: path, not_inside: [/p]}], action: block}]"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := run(t, "policy", "test", rules, "--recorded")
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"files:read passed; now: block by below-p", "files:read was refused; now: allow", "3 calls judged since", "2 otherwise than before", "2 could not be"} {
		if status != 0 || !strings.Contains(flat, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, out, stderr)
		}
	}
	if strings.Count(out, "files:read") != 2 {
		t.Errorf("what ends as before is listed:\n%s", out)
	}
	if status, _, _ := run(t, "policy", "test", rules, "calls.jsonl", "--recorded"); status != StatusUsage {
		t.Errorf("written and recorded calls at once: %d", status)
	}
	if status, _, _ := run(t, "policy", "test", rules, "--recorded", "--since", "soon"); status != StatusUsage {
		t.Errorf("a time that is none: %d", status)
	}
}
