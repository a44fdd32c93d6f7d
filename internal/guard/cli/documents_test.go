// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sentinel/internal/guard/record"
	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// published returns a schema of docs/schemas that takes nothing it does not describe.
func published(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs/schemas", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	closed(value)
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, object := s["properties"].(map[string]any); object {
			s["additionalProperties"] = false
		}
		for _, inner := range s {
			closed(inner)
		}
	case []any:
		for _, inner := range s {
			closed(inner)
		}
	}
}

func conforms(t *testing.T, schema, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v\n%s", schema, err, text)
	}
	if err := published(t, schema).Validate(value); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// What each command prints with --json is what its schema describes, and nothing else.
func TestDocumentsAreAsPublished(t *testing.T) {
	home := atDoctor(t)
	os.Unsetenv("MCP_POLICY_FILE")
	t.Setenv("MCP_MAX_CALLS_PER_TOOL", "7")
	recorded(t)
	recordCalls(t, "BBBB", true, recordedCall{tool: "read", arguments: `{"a":1}`})
	if err := os.WriteFile(filepath.Join(home, ".mcp.json"), []byte(teamFile), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, calls, bad := filepath.Join(home, "rules.yaml"), filepath.Join(home, "calls.jsonl"), filepath.Join(home, "bad.yaml")
	for path, text := range map[string]string{
		rules: "limits: {calls_per_minute: 5, per_tool: {'s:*': 2}}\nrules:\n  - {name: r, tools: ['*'], action: block, reason: No.}\n  - {name: l, tools: ['*'], action: log}\n", calls: `{"server":"s","name":"t","expect":"allow"}`, bad: "rules: [{name: r, action: shut}]",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, proof, _ := run(t, "verify", "--proof", "AAAA-1")
	if err := os.WriteFile(filepath.Join(home, "proof.json"), []byte(proof), 0o600); err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(Documents())
	for _, c := range []struct{ schema, args string }{
		{"policy_init", "policy init --preset filesystem --json"},
		{"wrap", "wrap --all --dry-run --json"},
		{"wrap", "unwrap --all --json"},
		{"calls", "calls --json"},
		{"events", "events --json"},
		{"report", "report --json"},
		{"report", "report --session AAAA --json"},
		{"verify", "verify --json"},
		{"verify_proof", "verify --proof AAAA-1"},
		{"verify_check", "verify --check " + filepath.Join(home, "proof.json") + " --json"},
		{"doctor", "doctor --json"},
		{"status", "status --json"},
		{"policy_check", "policy check --json " + bad + " " + rules},
		{"policy_explain", "policy explain s:t --json --rules " + rules},
		{"policy_show", "policy show --json"},
		{"policy_test", "policy test --json " + rules + " " + calls},
		{"policy_test_recorded", "policy test --json --recorded " + rules},
	} {
		_, stdout, stderr := run(t, strings.Fields(c.args)...)
		if stdout == "" {
			t.Errorf("%s: %s", c.args, stderr)
			continue
		}
		conforms(t, "guard_"+c.schema, stdout)
		delete(left, c.schema)
	}
	if len(left) > 0 {
		t.Errorf("not tried: %v", slices.Sorted(maps.Keys(left)))
	}
	commands := 0
	for _, p := range Pages() {
		if slices.ContainsFunc(p.Flags, func(f Flag) bool { return f.Name == "json" }) {
			commands++
			name := strings.ReplaceAll(strings.TrimPrefix(p.Path, "sentinel-guard "), " ", "_")
			if Documents()[name] == nil && name != "unwrap" {
				t.Errorf("%s has --json and no schema", p.Path)
			}
		}
	}
	if commands < 12 {
		t.Errorf("only %d commands have --json", commands)
	}
}

// Each line that a guard writes is as the schema of the record says, whatever it is about.
func TestLinesOfTheRecordAreAsPublished(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	l := record.Open(record.Options{
		Dir: record.Dir(), Session: "AAAA", Server: "files", Command: []string{"server", "--token=hunter2hunter2"},
		BestEffort: func() bool { return false }, Values: func() bool { return true }, Note: func(text string) { t.Error(text) },
	})
	message := func(number int, raw string) *stage.Message {
		m := jsonrpc.Parse([]byte(raw)).Messages[0]
		return &stage.Message{Message: &m, Call: &stage.Call{ID: m.ID, Method: m.Method, Number: number, Name: "x"}, Revision: "2025-11-25"}
	}
	hello := message(1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"c","version":"1"}}}`)
	call := message(2, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,{"b":"c"}]}}}`)
	for _, m := range []*stage.Message{hello, call} {
		if err := l.Begin(m); err != nil {
			t.Fatal(err)
		}
	}
	l.End(stage.Client, hello.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{"protocolVersion":"2025-11-25"}`)})
	l.End(stage.Client, call.Call, relay.End{Outcome: relay.OK, Code: -32603, Answer: []byte(`{"content":[]}`)})
	l.Refused(message(3, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","arguments":{}}}`), stage.Refusal{Code: stage.PolicyBlocks, Rule: "r", Reason: "No.", Event: "AAAA-1"})
	l.Refused(message(4, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}`), stage.Refusal{Code: stage.TooLarge, Reason: "No.", Event: "AAAA-2"})
	l.Flagged(call, []string{"long"}, "AAAA-3")
	l.Violated(stage.Server, relay.Noise, []byte("hello"))
	l.Close(3)
	files, err := filepath.Glob(filepath.Join(record.Dir(), "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	types, phases, members := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(read(t, files[0])) {
		conforms(t, "guard_record", line)
		var e record.Event
		var all map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			t.Fatal(err)
		}
		types[e.Type], phases[e.Phase] = true, true
		for name := range all {
			members[name] = true
		}
	}
	if len(types) != 5 || len(phases) != 4 { // and none
		t.Errorf("not all events were tried: %v %v", types, phases)
	}
	for _, name := range []string{"arguments", "result", "flags", "violation", "exit_status", "client_name", "revision", "head", "error_code"} {
		if !members[name] {
			t.Errorf("no line has %s", name)
		}
	}
}
