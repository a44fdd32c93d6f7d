// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFindsServersWhereverTheyStand(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Server
	}{
		"Claude Desktop":  {`{"mcpServers": {"b": {"command": "npx", "args": ["-y", "x"]}, "a": {"command": "/bin/a"}}}`, []Server{{Name: "a", Command: "/bin/a"}, {Name: "b", Command: "npx", Args: []string{"-y", "x"}}}},
		"projects":        {`{"projects": {"/x": {"mcpServers": {"a": {"command": "a"}}}, "/y": {"mcpServers": {"b": {"command": "b"}}}}}`, []Server{{Name: "a", Command: "a"}, {Name: "b", Command: "b"}}},
		"VS Code":         {"{\n// servers\n\"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"a\", /* none */ \"args\": [\"x//y\",],},},}", []Server{{Name: "a", Command: "a", Args: []string{"x//y"}}}},
		"Zed":             {`{"context_servers": {"a": {"command": {"path": "/bin/a", "args": ["1"]}}}}`, []Server{{Name: "a", Command: "/bin/a", Args: []string{"1"}}}},
		"one list":        {`{"mcp": {"servers": {"a": {"command": ["/bin/a", "1"]}}}}`, []Server{{Name: "a", Command: "/bin/a", Args: []string{"1"}}}},
		"byte order mark": {"\ufeff{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}", []Server{{Name: "a", Command: "a"}}},
		"by URL":          {`{"mcpServers": {"a": {"url": "https://mcp.example"}}}`, nil},
		"odd types":       {`{"mcpServers": {"a": 1, "b": {"command": 2}, "c": {"command": "c", "args": ["x", 1, null]}, "d": []}, "servers": []}`, []Server{{Name: "c", Command: "c", Args: []string{"x"}}}},
		"no object":       {`[{"mcpServers": {"a": {"command": "a"}}}]`, nil},
		"too deep":        {strings.Repeat(`{"x":`, 9) + `{"mcpServers": {"a": {"command": "a"}}}` + strings.Repeat("}", 9), nil},
		"long command":    {`{"mcpServers": {"a": {"command": "` + strings.Repeat("x", maxText+1) + `"}}}`, nil},
	} {
		got, err := Parse([]byte(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestParseRefusesWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{"", "{", "mcpServers:\n  a: b", `{"a": "` + "\n", "/*", `{} x`} {
		if got, err := Parse([]byte(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	servers := map[string]any{}
	for i := range 3 * maxServers {
		servers[strings.Repeat("x", i)] = map[string]string{"command": "a"}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(raw); !errors.Is(err, ErrTooMany) || len(got) != maxServers {
		t.Errorf("%d servers, %v", len(got), err)
	}
}

func TestPathsAreThoseThatDecideWhatRuns(t *testing.T) {
	s := Server{Command: "/usr/bin/node", Args: []string{"--flag", "/opt/server.js", "/srv/data", "relative.js", "/", "/opt/.js", "/opt/dir.d/x", "/opt/tool.py"}}
	if diff := cmp.Diff([]string{"/usr/bin/node", "/opt/server.js", "/opt/tool.py"}, s.Paths()); diff != "" {
		t.Error(diff)
	}
	s = Server{Command: "/usr/bin/sentinel-guard", Args: []string{"run", "--name=a", "--", "/opt/a", "/srv/data"}}
	if diff := cmp.Diff([]string{"/usr/bin/sentinel-guard", "/opt/a"}, s.Paths()); diff != "" || s.Program() != "/opt/a" {
		t.Error(diff)
	}
	if got := (Server{Command: "npx", Args: []string{"/opt/a.sh"}}).Paths(); len(got) != 1 || got[0] != "/opt/a.sh" {
		t.Errorf("%v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "a", "args": ["b"]}}} // c`))
	f.Add([]byte("{/* */ \"servers\": {\"a\": {\"command\": {\"path\": \"x\"}},},}"))
	f.Add([]byte(`{"mcpServers":{"a":{"command":"/x/sentinel-mcp"}},"b":[{"command":7}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		servers, err := Parse(raw)
		if string(raw) != before {
			t.Error("the input was changed")
		}
		if err != nil && servers != nil || len(servers) > maxServers {
			t.Errorf("%d servers, %v", len(servers), err)
		}
		// What is JSON already keeps its meaning.
		var plainly any
		if json.Unmarshal(raw, &plainly) == nil && err != nil {
			t.Errorf("refuses %q", raw)
		}
		for _, s := range servers {
			if s.Command == "" || len(s.Command) > maxText {
				t.Errorf("command %q", s.Command)
			}
		}
	})
}
