// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
	"sentinel/internal/guard/stages"
)

// limited returns a rig with limits, as they stand in a file.
func limited(t *testing.T, limits string) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(path, []byte("limits: "+limits+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Open(policy.Environment{}, policy.Source{Path: path, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, Options{Stages: stages.All(stages.Settings{Server: "s", Rules: rules})})
}

// A call that the client repeats with the input that the server had asked for is one call: it is
// counted once, and never refused for what came between, or what was begun could not be ended.
func TestARepetitionWithInputIsOneCallForTheLimits(t *testing.T) {
	g := limited(t, "{concurrency: 2, calls_per_minute: 4, per_tool: {'s:a': 1}}")
	ask := func(id, name, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"` + more + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	}
	const needs = `{"resultType":"input_required","requestState":"s1","inputRequests":{}}`
	const input = `,"inputResponses":{"x":{"action":"accept"}},"requestState":"s1"`
	passes := func(id, name, more string) {
		t.Helper()
		g.client.line(ask(id, name, more))
		g.server.wants(ask(id, name, more))
	}
	answers := func(id, result string) {
		t.Helper()
		line := `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
		g.server.send(line + "\n")
		g.client.wants(line)
	}
	refused := func(id, name, rule string) {
		t.Helper()
		g.client.line(ask(id, name, ""))
		if got := g.client.read(); !strings.Contains(got, `"id":`+id+`,`) || !strings.Contains(got, `"code":"`+string(stage.RateLimited)+`","rule":"`+rule+`"`) {
			t.Errorf("%s of %s: %s", id, name, got)
		}
	}
	passes("1", "a", "")
	answers("1", needs)
	passes("2", "b", "")
	passes("3", "c", "") // as many at once as may be
	refused("4", "d", "concurrency")
	passes("5", "a", input)
	refused("6", "d", "concurrency")
	answers("5", `{}`)
	refused("7", "d", "concurrency") // b and c are still in flight
	answers("2", `{}`)
	answers("3", `{}`)
	refused("8", "a", "per_tool")
	passes("9", "e", "") // the fourth
	answers("9", needs)
	refused("10", "f", "calls_per_minute")
	passes("11", "e", input)
	answers("11", `{}`)
	refused("12", "f", "calls_per_minute")
}
