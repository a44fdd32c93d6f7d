// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/testenv"
)

// layouts are what people write, with SERVERS for the member of the servers.
// BOTH stands where a comment may be, LAST for a comma after the last member.
var layouts = []string{
	"{}", "{BOTH}", "{\n}\n", "{\n  \"a\": 1LAST\n}BOTH\n", "{\"a\":1,\"SERVERS\":{}}", "{\n  \"SERVERS\": {BOTH\n  }LAST BOTH\n}",
	"BOTH{\n\t\"SERVERS\": {\n\t\t\"b\": {\"x\": [1, \"//\", \"/*\"]}LAST BOTH\n\t},\n\t\"z\": {}BOTH\n}\n",
	"{\r\n    \"SERVERS\": {\r\n        \"b\": {}BOTH\r\n    }LAST\r\n}\r\n",
	"{\"SERVERS\": {\"a\": {}, \"b\": {\"u\": \"https://example.com\"}BOTH}LAST}", "{\"SERVERS\": {\"a\": {}BOTH},BOTH\n \"z\": \"\\\"/*\"}",
}

func TestParsersOfTheClientsReadWhatInstallWrites(t *testing.T) {
	testenv.NodePackages(t)
	type tried struct {
		Parser  string `json:"parser"`
		Before  string `json:"before"`
		After   string `json:"after"`
		Servers string `json:"servers"`
	}
	var all []tried
	for id, by := range map[string]string{
		"vscode": "jsonc-parser", "cursor": "jsonc-parser", "gemini-cli": "strip-json-comments", "claude-desktop": "JSON", "claude-code": "JSON", "copilot-cli": "JSON",
	} {
		comments, commas := []string{""}, []string{""}
		if by != "JSON" {
			comments = append(comments, "// x \"y\": {}\n", " /* x */ ", "\n// x\n  /* y\n // z */\n", "/**/")
		}
		if by == "jsonc-parser" {
			commas = append(commas, ",", " /* c */ ,", " // c\n ,")
		}
		servers := map[bool]string{true: "servers", false: "mcpServers"}[id == "vscode"]
		for _, layout := range layouts {
			for _, comment := range comments {
				for _, comma := range commas {
					before := strings.NewReplacer("SERVERS", servers, "BOTH", comment, "LAST", comma).Replace(layout)
					all = append(all, tried{by, before, entered(t, id, before), servers})
				}
			}
		}
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "parsers.mjs")
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != fmt.Sprintf("ok %d\n", len(all)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// entered has a client's configuration edited and returns it.
func entered(t *testing.T, id, before string) string {
	t.Helper()
	c, _ := clients.ByID(id)
	u := clients.User{OS: "linux", Home: t.TempDir(), Env: func(string) string { return "" }, UID: os.Geteuid()}
	path := c.File(u)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := edit.Install(t.Context(), u, c, edit.Entry{Command: "/usr/local/bin/sentinel-mcp"}, false); err != nil {
		t.Fatalf("%s: %v in %q", id, err, before)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := edit.Uninstall(t.Context(), u, c, false); err != nil {
		t.Fatalf("%s: %v in %q", id, err, raw)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != before {
		t.Errorf("%s: %q became %q, %v", id, before, after, err)
	}
	return string(raw)
}
