// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"errors"
	"runtime"
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

// A file of a user is read by root's audit: however it is made, it takes little more memory than its
// own size. Values that become objects of Go take forty times as much.
func TestParseTakesLittleMoreMemoryThanTheFile(t *testing.T) {
	filled := func(begin, fill, end string) []byte {
		return []byte(begin + strings.Repeat(fill, (MaxFile-len(begin)-len(end))/len(fill)) + end)
	}
	for name, raw := range map[string][]byte{
		"history":      filled(`{"mcpServers": {"a": {"command": "a"}}, "history": [`, `[],`, `0]}`),
		"objects":      filled(`{"mcpServers": {"a": {"command": "a"}}, "history": [`, `{"":{}},`, `0]}`),
		"arguments":    filled(`{"mcpServers": {"a": {"command": "a", "args": [`, `"",`, `""]}}}`),
		"environment":  filled(`{"mcpServers": {"a": {"command": "a", "env": {`, `"a":"",`, `"":""}}}}`),
		"one text":     filled(`{"mcpServers": {"a": {"command": "a"}}, "history": "`, `x`, `"}`),
		"odd servers":  filled(`{"mcpServers": {"a": {"command": "a"},`, `"a":[],`, `"":0}}`),
		"odd projects": filled(`{"mcpServers": {"a": {"command": "a"}}, "projects": {`, `"a":{},`, `"":0}}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		servers, err := Parse(raw)
		runtime.ReadMemStats(&after)
		if err != nil || len(servers) != 1 || servers[0].Command != "a" {
			t.Errorf("%s: %d servers, %v", name, len(servers), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 2*MaxFile {
			t.Errorf("%s of %d MiB takes %.1f MiB", name, MaxFile>>20, float64(took)/(1<<20))
		}
	}
}

// Members that are there twice: the last one counts, as for the clients. Of whole entries all are told,
// so that none can hide behind another.
func TestParseKeepsRepeatedServers(t *testing.T) {
	got, err := Parse([]byte(`{"mcpServers": {"a": {"command": "one", "command": "two"}, "a": {"command": "three"}}}`))
	if diff := cmp.Diff([]Server{{Name: "a", Command: "two"}, {Name: "a", Command: "three"}}, got); diff != "" || err != nil {
		t.Error(diff, err)
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
	f.Add([]byte(` {"a\u0022":[1,{"x":"]\\""}],"mcpServers":{"\ud800":{"command":["/x","\\",null],"args":[]}}} `))
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
