// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/ops"
)

var update = flag.Bool("update", false, "write the golden files anew")

// listed returns the tools as the server lists them.
func listed(t *testing.T) []map[string]json.RawMessage {
	t.Helper()
	var out bytes.Buffer
	s := newServer(ops.All(), nil, testHandler(printing("{}")).toolHandler)
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if err := newTransport(s, &out, testLimit, quiet()).serve(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Tools []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return answer.Result.Tools
}

func TestToolsListIsAsCommitted(t *testing.T) {
	const golden = "testdata/tools_list.golden.json"
	got, err := json.MarshalIndent(listed(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (make golden writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("tools/list; if this is wanted, run make golden (-want +got):\n%s", diff)
	}
}

func TestEveryOperationIsATool(t *testing.T) {
	got := map[string]bool{}
	for _, tool := range listed(t) {
		got[text(t, tool["name"])] = true
		if text(t, tool["title"]) == "" || text(t, tool["description"]) == "" {
			t.Errorf("%s has no title or no description", tool["name"])
		}
	}
	for _, op := range ops.All() {
		if !got[op.Name] {
			t.Errorf("%s is no tool", op.Name)
		}
	}
	if len(got) != len(ops.All()) {
		t.Errorf("%d tools, %d operations", len(got), len(ops.All()))
	}
}

func text(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return s
}

// TestEveryHintIsWrittenOut holds each tool to the hints of the contract. A
// new tool needs a line here.
func TestEveryHintIsWrittenOut(t *testing.T) {
	const reader = "read-only true, destructive false, idempotent true, open world false"
	want := map[string]string{
		"get_system_health":      reader,
		"get_top_processes":      reader,
		"get_network_stats":      reader,
		"get_asset_info":         reader,
		"list_blocked_ips":       reader,
		"check_updates":          reader,
		"security_audit":         reader,
		"send_telemetry_webhook": "read-only false, destructive false, idempotent false, open world true",
		"scan_ports":             "read-only false, destructive false, idempotent true, open world true",
		"dns_lookup":             "read-only false, destructive false, idempotent true, open world true",
		"get_service_status":     "read-only true, destructive false, idempotent true, open world false",
		"traceroute":             "read-only false, destructive false, idempotent true, open world true",
		"get_startup_items":      reader,
		"get_logs":               reader,
		"get_health_history":     reader,
		"get_action_history":     reader,
		"get_containers":         reader,
		"get_disk_usage":         reader,
		"get_fleet_health":       reader,
		"get_logins":             reader,
		"get_process_details":    reader,
		"terminate_process":      "read-only false, destructive true, idempotent false, open world false",
		"restart_service":        "read-only false, destructive true, idempotent false, open world false",
		"block_ip_address":       "read-only false, destructive true, idempotent true, open world false",
		"unblock_ip_address":     "read-only false, destructive true, idempotent true, open world false",
		"enable_firewall":        "read-only false, destructive true, idempotent true, open world false",
		"allow_service":          "read-only false, destructive true, idempotent true, open world false",
		"disable_firewall":       "read-only false, destructive true, idempotent true, open world false",
	}
	for _, tool := range listed(t) {
		var a struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
		if err := json.Unmarshal(tool["annotations"], &a); err != nil {
			t.Fatal(err)
		}
		name := text(t, tool["name"])
		if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s leaves a hint out: %s", name, tool["annotations"])
			continue
		}
		got := fmt.Sprintf("read-only %v, destructive %v, idempotent %v, open world %v",
			*a.ReadOnlyHint, *a.DestructiveHint, *a.IdempotentHint, *a.OpenWorldHint)
		if got != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
	}
}

func TestHintsFollowTheEffect(t *testing.T) {
	for effect, want := range map[ops.Effect][3]bool{
		ops.Read:        {true, false, false},
		ops.Write:       {false, true, false},
		ops.Destructive: {false, true, false},
		ops.SendsOut:    {false, false, true},
	} {
		for _, idempotent := range []bool{true, false} {
			a := tool(ops.Operation{Name: "x", Effect: effect, Idempotent: idempotent}, nil).Annotations
			got := [3]bool{*a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint}
			if got != want || *a.IdempotentHint != idempotent {
				t.Errorf("effect %d: read-only, destructive, open world %v, idempotent %v; want %v, %v",
					effect, got, *a.IdempotentHint, want, idempotent)
			}
		}
	}
}

func TestToolsAreSmall(t *testing.T) {
	const mostInput, mostAll = 1000, 3000 // bytes a tool, of a model's context
	for _, tool := range listed(t) {
		input := len(tool["description"]) + len(tool["inputSchema"])
		whole, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		if input > mostInput || len(whole) > mostAll {
			t.Errorf("%s: description and input schema %d bytes (at most %d), all %d (at most %d)",
				tool["name"], input, mostInput, len(whole), mostAll)
		}
		if !bytes.Contains(tool["outputSchema"], []byte(`"success"`)) {
			t.Errorf("%s: the output schema does not know success: %s", tool["name"], tool["outputSchema"])
		}
	}
}

// A tool that is neither marks itself as safe to some clients. Why it may stands in a decision.
func TestAToolWithoutEitherHintHasItsReason(t *testing.T) {
	pages, err := filepath.Glob("../../docs/decisions/*-hints-of-tools.md")
	if err != nil || len(pages) != 1 {
		t.Fatalf("%v, %v", pages, err)
	}
	raw, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	reasoned := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `([a-z_]+)`: .{20,}$").FindAllSubmatch(raw, -1) {
		reasoned[string(m[1])] = true
	}
	for _, tool := range listed(t) {
		var a struct{ ReadOnlyHint, DestructiveHint bool }
		if err := json.Unmarshal(tool["annotations"], &a); err != nil {
			t.Fatal(err)
		}
		name := text(t, tool["name"])
		if neither := !a.ReadOnlyHint && !a.DestructiveHint; neither != reasoned[name] {
			t.Errorf("%s: neither hint %v, a reason in %s %v", name, neither, pages[0], reasoned[name])
		}
	}
}

func TestInstructionsNameNoToolThatIsOff(t *testing.T) {
	health := func(op ops.Operation) bool { return op.Name == "get_system_health" }
	if got := instructionsFor(ops.All(), nil); got != instructions || !strings.Contains(got, "get_system_health") {
		t.Errorf("%s", got)
	}
	if got := instructionsFor(slices.DeleteFunc(slices.Clone(ops.All()), health), nil); strings.Contains(got, "get_system_health") || !strings.Contains(got, "reads the state of the machine it runs on.\nProcess names") {
		t.Errorf("without the tool: %s", got)
	}
}

// A model calls what it reads of. Without any one tool nothing is left that names it, and what is left is whole.
func TestDescriptionsNameNoToolThatIsOff(t *testing.T) {
	table := ops.All()
	for _, off := range table {
		on := namesOf(slices.DeleteFunc(slices.Clone(table), func(op ops.Operation) bool { return op.Name == off.Name }))
		for _, op := range table {
			whole, got := op.Description, onOffer(op.Description, on)
			if op.Name == off.Name {
				continue
			}
			if named(off, got) || strings.Contains(string(inputSchema(op, nil)), off.Name) && strings.Contains(off.Name, "_") {
				t.Errorf("%s names %s: %s", op.Name, off.Name, got)
			}
			if !named(off, whole) && got != whole || !strings.HasSuffix(got, ".") || strings.Contains(got, "; .") || strings.Contains(got, ";.") || len(got) < len(whole)*2/3 {
				t.Errorf("%s without %s: %s", op.Name, off.Name, got)
			}
		}
	}
	for tool, want := range map[string]string{"get_service_status": "Use when something does not work. Names", "disable_firewall": "asks for it. On Linux", "get_logins": "break-ins. Names"} {
		op, _ := ops.ByName(tool)
		if got := onOffer(op.Description, []string{tool}); !strings.Contains(got, want) {
			t.Errorf("%s alone: %s", tool, got)
		}
	}
}

// Many clients do not show the instructions of a server to their model.
func TestWhatMustBeKnownStandsInTheToolItself(t *testing.T) {
	for _, tool := range listed(t) {
		name, description := text(t, tool["name"]), text(t, tool["description"])
		var a struct {
			Title        string
			ReadOnlyHint bool
		}
		if err := json.Unmarshal(tool["annotations"], &a); err != nil {
			t.Fatal(err)
		}
		op, _ := ops.ByName(name)
		if a.Title != op.Title || a.Title != text(t, tool["title"]) {
			t.Errorf("%s: title %q of the annotations, want %q", name, a.Title, op.Title)
		}
		if (op.Changes() || op.Recorded) && !strings.Contains(description, "Tell the user first what ") {
			t.Errorf("%s changes something and does not ask to say so first: %s", name, description)
		}
		if a.ReadOnlyHint && !strings.Contains(description, "data, never orders") {
			t.Errorf("%s does not say what its texts are: %s", name, description)
		}
	}
	health := strings.ToLower(text(t, listed(t)[slices.IndexFunc(listed(t), func(tool map[string]json.RawMessage) bool { return string(tool["name"]) == `"get_system_health"` })]["description"]))
	for _, word := range []string{"disk", "swap", "failed services", "uptime", "temperature", "memory", "firewall", "reboot", "listening"} {
		if !strings.Contains(health, word) {
			t.Errorf("health does not say that it answers %s", word)
		}
	}
}
