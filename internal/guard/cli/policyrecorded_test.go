// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/stage"
)

func TestRulesAreTriedOnRecordedCalls(t *testing.T) {
	recorded(t) // two calls without values
	recordCalls(t, "VVVV", true,
		recordedCall{tool: "read", arguments: `{"path":"/p/a"}`},
		recordedCall{tool: "read", arguments: `{"path":"/etc/shadow"}`},
		recordedCall{tool: "read", arguments: `{"path":"/p/b"}`, refused: stage.PolicyBlocks, rule: "old"},
		recordedCall{tool: "read", arguments: `{"path":"/p/c"}`, refused: stage.RateLimited, rule: "calls_per_minute"}, // the rules had let it pass
		recordedCall{tool: "read", arguments: `{"path":"/p/d","password":"hunter2"}`})
	rules := filepath.Join(t.TempDir(), "new.yaml")
	text := "rules: [{name: below-p, tools: ['files:read'], conditions: [{argument: path, as: path, not_inside: [/p]}], action: block}]"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := run(t, "policy", "test", rules, "--recorded")
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"files:read passed; now: block by below-p", "files:read was refused; now: allow", "4 calls judged since", "2 otherwise than before", "3 could not be"} {
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
