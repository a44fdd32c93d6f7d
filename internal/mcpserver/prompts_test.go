// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"strings"
	"testing"

	"sentinel/internal/ops"
)

// result returns the result of one request to a server with these operations.
func result(t *testing.T, operations []ops.Operation, method, params string) map[string]json.RawMessage {
	t.Helper()
	var out bytes.Buffer
	s := newServer(operations, nil, testHandler(printing("{}")).toolHandler)
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`)
	if err := newTransport(s, &out, testLimit, quiet()).serve(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	var answer struct{ Result map[string]json.RawMessage }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return answer.Result
}

const handshake = `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}`

func TestTheMenuHasSevenQuestions(t *testing.T) {
	want := map[string]string{
		"health-check": "Check this computer", "why-slow": "Why is it slow?", "is-it-secure": "Is it secure?", "what-is-open": "What may others reach?",
		"free-disk-space": "What fills the disk?", "what-changed": "What has changed?", "who-was-here": "Who was here?",
	}
	var list []struct{ Name, Title, Description string }
	if err := json.Unmarshal(result(t, ops.All(), "prompts/list", "")["prompts"], &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Title != want[p.Name] || p.Description == "" {
			t.Errorf("%+v, want the title %q", p, want[p.Name])
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// prompt returns the text of a prompt; "" where the server has none of this name.
func prompt(t *testing.T, operations []ops.Operation, name string) string {
	t.Helper()
	var messages []struct {
		Role    string
		Content struct{ Type, Text string }
	}
	raw, ok := result(t, operations, "prompts/get", `"name":"`+name+`"`)["messages"]
	if !ok {
		return ""
	}
	if err := json.Unmarshal(raw, &messages); err != nil || len(messages) != 1 || messages[0].Role != "user" || messages[0].Content.Type != "text" {
		t.Fatalf("%s: %s, %v", name, raw, err)
	}
	return messages[0].Content.Text
}

func TestAPromptTakesOnlyToolsThatAreOn(t *testing.T) {
	readers := selected(ops.All(), options{toolsets: []string{ops.DefaultToolset}, readOnly: true})
	few := selected(readers, options{toolsets: []string{allToolsets}, disabled: []string{"get_system_health", "check_updates"}})
	for _, c := range []struct {
		name        string
		operations  []ops.Operation
		with, never string
	}{
		{"what-is-open", ops.All(), "\n2. scan_ports: ", "no tool of this name"},
		{"what-is-open", readers, "\n2. security_audit: ", "scan_ports"},
		{"health-check", readers, "\n1. get_system_health: ", "terminate_process"},
		{"health-check", few, "\n1. list_blocked_ips: ", "get_system_health"},
		{"is-it-secure", few, "\n1. security_audit: ", "check_updates"},
		{"what-changed", ops.All(), "Ask me first since when", "no tool of this name"},
	} {
		said := prompt(t, c.operations, c.name)
		if !strings.Contains(said, c.with) || strings.Contains(said, c.never) || !strings.Contains(said, "wait for my yes") || !strings.Contains(said, "policy of this machine refuses a tool") {
			t.Errorf("%s: want %q and not %q in %q", c.name, c.with, c.never, said)
		}
	}
	alone := selected(ops.All(), options{toolsets: []string{allToolsets}, disabled: []string{"get_system_health", "get_top_processes", "get_network_stats", "get_process_details", "get_health_history", "get_logs"}})
	if said := prompt(t, alone, "why-slow"); said != "" {
		t.Errorf("a plan without any tool: %q", said)
	}
}

// What a plan is about has a tool of its own; without it the plan would promise what it cannot do.
func TestAPlanWithoutItsToolIsNotOffered(t *testing.T) {
	for name, tool := range map[string]string{"free-disk-space": "get_disk_usage", "what-changed": "get_startup_items", "who-was-here": "get_logins"} {
		for want, operations := range map[bool][]ops.Operation{
			true: ops.All(), false: selected(ops.All(), options{toolsets: []string{allToolsets}, disabled: []string{tool}}),
		} {
			if said := prompt(t, operations, name); (said != "") != want {
				t.Errorf("%s, with %s %v: %q", name, tool, want, said)
			}
		}
	}
}

// The tools of a plan exist.
func TestPlansNameToolsThatExist(t *testing.T) {
	for _, p := range ops.Prompts() {
		for _, name := range p.Tools() {
			if _, ok := ops.ByName(name); !ok {
				t.Errorf("%s names %s, which is no tool", p.Name, name)
			}
		}
	}
}

// A server without a prompt announces none.
func TestPromptsAreAnnouncedWhereThereAreAny(t *testing.T) {
	history, _ := ops.ByName("get_action_history")
	for want, operations := range map[string][]ops.Operation{
		`{"prompts":{},"tools":{}}`: ops.All(), `{"tools":{}}`: {history},
	} {
		if got := string(result(t, operations, "initialize", handshake)["capabilities"]); got != want {
			t.Errorf("capabilities %s, want %s", got, want)
		}
	}
}

func TestTheServerHasATitleAndAnIcon(t *testing.T) {
	var info struct {
		Title string
		Icons []struct {
			Src, MIMEType string
			Sizes         []string
		}
	}
	if err := json.Unmarshal(result(t, ops.All(), "initialize", handshake)["serverInfo"], &info); err != nil {
		t.Fatal(err)
	}
	if info.Title != "Sentinel" || len(info.Icons) != 1 || info.Icons[0].MIMEType != "image/png" || info.Icons[0].Sizes[0] != "48x48" {
		t.Fatalf("%+v", info)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(info.Icons[0].Src, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || picture.Width != 48 || picture.Height != 48 || len(raw) > 500 {
		t.Errorf("%+v, %d bytes, %v", picture, len(raw), err)
	}
}

// Since revision 2026-07-28 a client may keep a list as long as the server says.
func TestListsThatDoNotChangeMayBeKept(t *testing.T) {
	for _, method := range []string{"tools/list", "prompts/list", "server/discover"} {
		r := result(t, ops.All(), method, modern)
		if string(r["ttlMs"]) != "3600000" || string(r["cacheScope"]) != `"private"` {
			t.Errorf("%s: ttlMs %s, cacheScope %s", method, r["ttlMs"], r["cacheScope"])
		}
		if _, there := result(t, ops.All(), method, "")["ttlMs"]; there {
			t.Errorf("%s has ttlMs without the revision that has it", method)
		}
	}
}
