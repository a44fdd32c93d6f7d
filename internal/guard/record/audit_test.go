// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/stage"
)

func TestRefusedCallsAreInTheFileOfTheFirstGateway(t *testing.T) {
	dir, path := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "audit.jsonl")
	const before = `{"timestamp": "2026-01-01", "message_id": 1}` + "\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	audit, err := OpenAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	l := Open(Options{Dir: dir, Session: "AAAA", Server: "files", BestEffort: func() bool { return false }, Note: func(text string) { t.Error(text) }, Audit: audit})
	if err := called(l, `{"path":"/x"}`); err != nil {
		t.Fatal(err)
	}
	m := message(`{"jsonrpc":"2.0","id":"seven\u202e","method":"tools/call","params":{"name":"read","arguments":{"password":"hunter2"}}}`)
	l.Refused(m, stage.Refusal{Code: stage.PolicyBlocks, Rule: "no-reads", Reason: "No.", Event: "AAAA-1"})
	if err := os.Rename(path, path+".1"); err != nil { // by a rotation
		t.Fatal(err)
	}
	l.Refused(message(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"read"}}`), stage.Refusal{Code: stage.PolicyBlocks, Reason: "No."})
	l.Close(0)
	first, err := os.ReadFile(path + ".1")
	if err != nil || !strings.HasPrefix(string(first), before) || strings.Count(string(first), "\n") != 2 || strings.Contains(string(first), "hunter2") {
		t.Errorf("%v\n%s", err, first)
	}
	var line map[string]any
	if err := json.Unmarshal(first[len(before):], &line); err != nil {
		t.Fatal(err)
	}
	details, _ := line["details"].(map[string]any)
	id, _ := line["message_id"].(string)
	if !strings.HasPrefix(id, "seven") || strings.Contains(id, "\u202e") || line["method"] != "tools/call" || line["reason"] != "No." ||
		details["rule"] != "no-reads" || details["event"] != "AAAA-1" || details["code"] != string(stage.PolicyBlocks) || details["tool_name"] != "read" {
		t.Errorf("%v", line)
	}
	second, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(second), `"message_id":8,`) || strings.Count(string(second), "\n") != 1 {
		t.Errorf("%v\n%s", err, second)
	}
}

func TestAFileThatIsNoAuditIsLeft(t *testing.T) {
	dir := t.TempDir()
	profile, link := filepath.Join(dir, "profile"), filepath.Join(dir, "link")
	if err := os.WriteFile(profile, []byte("export PATH\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{"": "is empty", profile: "holds something else", link: "too many levels", dir: "directory", "/dev/null": "regular", filepath.Join(dir, "no", "x"): "no such file"} {
		if _, err := OpenAudit(path); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), AuditVariable) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
