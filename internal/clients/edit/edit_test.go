// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
)

// person is a user of the given system with an empty home.
func person(t *testing.T, goos string, env map[string]string) clients.User {
	t.Helper()
	return clients.User{OS: goos, Home: t.TempDir(), Env: func(name string) string { return env[name] }, UID: os.Geteuid()}
}

func client(t *testing.T, id string) clients.Client {
	t.Helper()
	c, ok := clients.ByID(id)
	if !ok {
		t.Fatalf("there is no client %s", id)
	}
	return c
}

var example = Entry{Command: "/usr/local/bin/sentinel-mcp", Args: []string{}}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// values reads a configuration as a lenient client does.
func values(t *testing.T, raw string) map[string]any {
	t.Helper()
	plain, err := hujson.Standardize([]byte(strings.TrimPrefix(raw, bom) + "\n"))
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(plain)))
	d.UseNumber() // numbers are texts to us, of any size
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func TestEveryClientGetsAnEntryInItsForm(t *testing.T) {
	args := []any{"--read-only", "--toolsets=all"}
	for id, want := range map[string]map[string]any{
		"claude-desktop": {"command": "/usr/local/bin/sentinel-mcp", "args": args},
		"claude-code":    {"type": "stdio", "command": "/usr/local/bin/sentinel-mcp", "args": args},
		"cursor":         {"command": "/usr/local/bin/sentinel-mcp", "args": args},
		"vscode":         {"type": "stdio", "command": "/usr/local/bin/sentinel-mcp", "args": args},
		"gemini-cli":     {"command": "/usr/local/bin/sentinel-mcp", "args": args},
		"copilot-cli":    {"type": "local", "command": "/usr/local/bin/sentinel-mcp", "args": args, "tools": []any{"*"}},
	} {
		for _, goos := range []string{"linux", "darwin"} {
			u, c := person(t, goos, nil), client(t, id)
			e := Entry{Command: "/usr/local/bin/sentinel-mcp", Args: []string{"--read-only", "--toolsets=all"}}
			change, err := Install(t.Context(), u, c, e, false)
			if err != nil || !change.Changed || change.Backup != "" {
				t.Fatalf("%s on %s: %+v, %v", id, goos, change, err)
			}
			servers := map[bool]string{true: "servers", false: "mcpServers"}[id == "vscode"]
			if diff := cmp.Diff(map[string]any{servers: map[string]any{"sentinel": want}}, values(t, content(t, c.File(u)))); diff != "" {
				t.Errorf("%s on %s (-want +got):\n%s", id, goos, diff)
			}
			info, err := os.Stat(c.File(u))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s on %s: mode %v, %v", id, goos, info.Mode(), err)
			}
		}
	}
}

func TestNewConfigurationIsLaidOutForPeople(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "vscode")
	if _, err := Install(t.Context(), u, c, Entry{Command: "/usr/bin/sentinel-mcp", Args: []string{"--read-only"}}, false); err != nil {
		t.Fatal(err)
	}
	want := `{
  "servers": {
    "sentinel": {
      "type": "stdio",
      "command": "/usr/bin/sentinel-mcp",
      "args": ["--read-only"]
    }
  }
}
`
	if diff := cmp.Diff(want, content(t, c.File(u))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsThereBeforeComesBackToTheByte(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, c := range clients.Installable() {
			for name, before := range corpus(c) {
				t.Run(goos+" "+c.ID+" "+name, func(t *testing.T) {
					u := person(t, goos, nil)
					put(t, c.File(u), before)
					first, err := Install(t.Context(), u, c, example, false)
					if err != nil || !first.Changed || content(t, first.Backup) != before {
						t.Fatalf("%+v, %v", first, err)
					}
					after := content(t, c.File(u))
					untouched(t, c, before, after)
					second, err := Install(t.Context(), u, c, example, false)
					if err != nil || second.Changed || content(t, c.File(u)) != after {
						t.Errorf("the second time: %+v, %v", second, err)
					}
					gone, err := Uninstall(t.Context(), u, c, false)
					if err != nil || !gone.Changed {
						t.Errorf("%+v, %v", gone, err)
					}
					if got := content(t, c.File(u)); got != before {
						t.Errorf("after both %q, before %q", got, before)
					}
					if left := entries(t, filepath.Dir(c.File(u))); !slices.Equal(left, []string{filepath.Base(c.File(u))}) {
						t.Errorf("left behind: %v", left)
					}
				})
			}
		}
	}
}

// untouched says that every line of before is in after, in order, but for a
// comma at its end, and that no value but ours is another.
func untouched(t *testing.T, c clients.Client, before, after string) {
	t.Helper()
	was, is := values(t, before), values(t, after)
	servers, _ := is[c.Servers].(map[string]any)
	ours, _ := servers["sentinel"].(map[string]any)
	if ours["command"] != example.Command {
		t.Errorf("no entry in %s", after)
	}
	delete(servers, "sentinel")
	if _, had := was[c.Servers]; !had {
		delete(is, c.Servers)
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("others (-before +after):\n%s", diff)
	}
	rest := after
	for _, word := range strings.FieldsFunc(before, func(r rune) bool { return strings.ContainsRune(" \t\r\n,{}", r) }) {
		_, behind, ok := strings.Cut(rest, word)
		if !ok {
			t.Fatalf("%q is lost or out of order in %s", word, after)
		}
		rest = behind
	}
	if strings.Contains(before, "\r\n") != strings.Contains(after, "\r\n") || strings.HasPrefix(before, bom) != strings.HasPrefix(after, bom) {
		t.Errorf("line ends or byte order mark changed: %q", after)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// corpus are configurations as they are found, with the member that c keeps its
// servers in.
func corpus(c clients.Client) map[string]string {
	all := map[string]string{
		"braces":           "{}",
		"braces, newline":  "{}\n",
		"open braces":      "{\n}\n",
		"spaced":           "{ }",
		"no servers":       "{\n  \"theme\": \"dark\",\n  \"n\": 1e400\n}\n",
		"empty servers":    "{\n  \"SERVERS\": {}\n}\n",
		"null beside":      "{\n  \"SERVERS\": {\n  },\n  \"x\": null\n}",
		"one server":       "{\n  \"SERVERS\": {\n    \"files\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"x\"],\n      \"env\": {\"KEY\": \"secret\"}\n    }\n  }\n}\n",
		"tabs":             "{\n\t\"SERVERS\": {\n\t\t\"files\": {\n\t\t\t\"command\": \"npx\"\n\t\t}\n\t}\n}\n",
		"four spaces":      "{\n    \"a\": [1, 2, {\"b\": []}],\n    \"SERVERS\": {\n        \"b\": {\"url\": \"https://example.com//mcp\"}\n    },\n    \"z\": \"\\u00e9\\ud83d\\ude00\"\n}",
		"one line":         `{"SERVERS":{"files":{"command":"npx"}},"projects":{"/home/alice":{"mcpServers":{"sentinel":{"command":"mine"}}}}}`,
		"one spaced line":  `{"a": 1, "SERVERS": {"b": {"command": "npx"}}}` + "\n",
		"one line without": `{"a":{"b":"c"}}`,
		"windows":          "{\r\n  \"SERVERS\": {\r\n    \"b\": {\r\n      \"command\": \"npx\"\r\n    }\r\n  }\r\n}\r\n",
		"mark":             bom + "{\n  \"a\": 1\n}\n",
		"escaped name":     "{\n  \"SERVER\\u0053\": {\n    \"b\": {}\n  }\n}\n",
		"no indentation":   "{\n\"SERVERS\": {\n\"b\": {}\n}\n}\n",
		"mixed lines":      "{\"a\": 1,\n\"SERVERS\": {\"b\": {}, \"c\": {}}, \"d\": 2}\n",
		"first in line":    "{ \"SERVERS\": { \"b\": {},\n    \"c\": {} } }\n",
	}
	if c.Install.Syntax >= clients.Comments {
		maps.Copy(all, map[string]string{
			"comments":              "// head\n{\n  // servers\n  \"SERVERS\": {\n    // one\n    \"b\": {\"x\": 1} // behind b\n    // below b\n  } /* behind */\n  // end\n}\n// tail",
			"comment alone":         "{\n  // nothing yet\n}\n",
			"comment in servers":    "{\n  \"SERVERS\": {\n    // \"old\": {}\n  }\n}\n",
			"block comment":         "{\n  \"a\": 1 /* over\n  lines // with both */\n}\n",
			"two in a line":         "{\n  \"a\": 1 /* x */ /* y */ // z\n}\n",
			"line comment, windows": "{\r\n  \"a\": 1 // x\r\n}\r\n",
			"comment before comma":  "{\n  \"SERVERS\": {\n    \"a\": {} // x\n    , \"b\": {} // y\n  }\n}\n",
			"one line, comment":     "{\"a\": 1 /* x */}",
			"one line, line ends":   "{\"a\": 1 // x\n}",
			"empty, comment":        "{\"SERVERS\": {/* x */}}",
			"address in text":       "{\n  \"a\": \"http://example.com\"\n}\n",
		})
	}
	if c.Install.Syntax >= clients.Lenient {
		maps.Copy(all, map[string]string{
			"trailing comma":             "{\n  \"SERVERS\": {\n    \"b\": {\"x\": [1,],},\n  },\n}\n",
			"trailing comma, comment":    "{\n  \"SERVERS\": {\n    \"b\": {}, // b\n    // \"c\": {},\n  },\n}\n",
			"trailing comma, one line":   "{\"a\": 1, }",
			"trailing comma, in a line":  "{\"SERVERS\": {\"a\": {}, /* x */}, \"inputs\": [\n  1, // y\n], }",
			"comment before the comma":   "{\n  \"a\": 1 /* x */,\n}\n",
			"trailing comma, own line":   "{\n  \"a\": 1\n  ,\n}\n",
			"trailing comma, line ended": "{\n  \"a\": 1 // x\n  , // y\n}\n",
		})
	}
	for name, text := range all {
		all[name] = strings.ReplaceAll(strings.ReplaceAll(text, "SERVERS", c.Servers), "SERVER\\u0053", strings.TrimSuffix(c.Servers, "s")+"\\u0073")
	}
	return all
}

// Without the backup, and when the client has written the file since, our entry
// goes and nothing else.
func TestEntryIsTakenOutOfAChangedConfiguration(t *testing.T) {
	for _, c := range clients.Installable() {
		for name, before := range corpus(c) {
			t.Run(c.ID+" "+name, func(t *testing.T) {
				after, err := install([]byte(before), c, example)
				if err != nil {
					t.Fatal(err)
				}
				got, err := remove(after, c)
				if err != nil {
					t.Fatal(err)
				}
				was, is := values(t, before), values(t, string(got))
				if _, had := was[c.Servers]; !had {
					was[c.Servers] = map[string]any{}
				}
				if diff := cmp.Diff(was, is); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				again, err := remove(got, c)
				if err != nil || string(again) != string(got) {
					t.Errorf("again: %q, %v", again, err)
				}
			})
		}
	}
}

func TestEntryIsTakenOutOfAnyPlace(t *testing.T) {
	const ours = `"sentinel": {"command": "/x/sentinel-mcp", "args": []}`
	for name, test := range map[string]struct{ before, want string }{
		"first":             {"{\"servers\": {\n  OURS,\n  \"b\": {}\n}}", "{\"servers\": {\n  \"b\": {}\n}}"},
		"middle":            {"{\"servers\": {\n  \"a\": {},\n  OURS,\n  \"b\": {}\n}}", "{\"servers\": {\n  \"a\": {},\n  \"b\": {}\n}}"},
		"last":              {"{\"servers\": {\n  \"a\": {},\n  OURS\n}}", "{\"servers\": {\n  \"a\": {}\n}}"},
		"last with a comma": {"{\"servers\": {\n  \"a\": {},\n  OURS,\n}}", "{\"servers\": {\n  \"a\": {},\n}}"},
		"alone":             {"{\"servers\": {\n  OURS\n}}", "{\"servers\": {}}"},
		"alone, comment":    {"{\"servers\": {\n  // x\n  OURS\n}}", "{\"servers\": {\n  // x\n}}"},
		"in one line":       {"{\"servers\": {\"a\": {}, OURS, \"b\": {}}}", "{\"servers\": {\"a\": {}, \"b\": {}}}"},
		"behind a comment":  {"{\"servers\": {\"a\": {}, // x\n  OURS, \"b\": {}}}", "{\"servers\": {\"a\": {}, // x\n \"b\": {}}}"},
		"end of a comment":  {"{\"servers\": {\"a\": {} // x\n  , OURS}}", "{\"servers\": {\"a\": {} // x\n  }}"},
		"last of a line":    {"{\"servers\": {\"a\": {}, // x\n  OURS}}", "{\"servers\": {\"a\": {} // x\n}}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := remove([]byte(strings.ReplaceAll(test.before, "OURS", ours)), client(t, "vscode"))
			if err != nil || string(got) != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestConfigurationThatWasMadeIsRemoved(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	change, err := Uninstall(t.Context(), u, c, false)
	if err != nil || !change.Deleted {
		t.Fatalf("%+v, %v", change, err)
	}
	if left := entries(t, filepath.Dir(c.File(u))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if change, err = Uninstall(t.Context(), u, c, false); err != nil || change.Changed {
		t.Errorf("again: %+v, %v", change, err)
	}
}

func TestEntryOfOursIsBroughtUpToDateAndKeepsItsOtherMembers(t *testing.T) {
	c := client(t, "cursor")
	before := "{\n  \"mcpServers\": {\n    \"sentinel\": {\n      \"command\": \"/opt/old/sentinel-mcp\", // old\n      \"env\": {\"A\": \"1\"},\n      \"args\": [\"--read-only\"],\n      \"disabled\": false,\n    },\n  },\n}\n"
	for name, test := range map[string]struct {
		e    Entry
		want string
	}{
		"command":           {Entry{Command: "/usr/bin/sentinel-mcp"}, strings.Replace(before, "/opt/old", "/usr/bin", 1)},
		"arguments":         {Entry{Command: "/opt/old/sentinel-mcp", Args: []string{"--toolsets=all"}}, strings.Replace(before, "--read-only", "--toolsets=all", 1)},
		"the same":          {Entry{Command: "/opt/old/sentinel-mcp", Args: []string{"--read-only"}}, before},
		"no arguments":      {Entry{Command: "/opt/old/sentinel-mcp", Args: []string{}}, strings.Replace(before, `"--read-only"`, "", 1)},
		"kept, not widened": {Entry{Command: "/opt/old/sentinel-mcp", Initial: []string{"--toolsets=default,diagnostics"}}, before},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := install([]byte(before), c, test.e)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got, err := install([]byte(`{"mcpServers":{"sentinel":{"command":"sentinel-mcp"}}}`), c, Entry{Command: "/usr/bin/sentinel-mcp", Args: []string{"--read-only"}})
	if want := `{"mcpServers":{"sentinel":{"command":"/usr/bin/sentinel-mcp","args":["--read-only"]}}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWhatCannotBeEditedIsLeftWithAReason(t *testing.T) {
	for name, test := range map[string]struct{ id, content, want string }{
		"not JSON":             {"cursor", "{\n  \"a\": 1,\n  oops\n}", "line 3, column 3"},
		"cut off":              {"cursor", "{\n  \"mcpServers\": {\n    \"a\": {", "line 3"},
		"text behind":          {"cursor", "{}\n{}", "line 2, column 1"},
		"missing comma":        {"claude-code", "{\"a\": 1\n\"b\": 2}", "line 2, column 1"},
		"single quotes":        {"vscode", "{'a': 1}", "line 1, column 2"},
		"bad escape":           {"vscode", "{\n\"a\": \"sk-secret\\q\"}", "line 2, column 6: this is not a JSON value"},
		"array":                {"cursor", "[]", "it is not one JSON object in braces"},
		"null":                 {"cursor", "null", "it is not one JSON object in braces"},
		"servers null":         {"cursor", "{\n\n\"mcpServers\": null}", `line 3: "mcpServers" is no object`},
		"servers array":        {"vscode", "{\"servers\": []}", `line 1: "servers" is no object`},
		"servers twice":        {"cursor", "{\"mcpServers\": {},\n\"mcpServers\": {}}", `line 2 has "mcpServers" a second time`},
		"twice, escaped":       {"cursor", "{\"mcpServers\": {},\n\"mcp\\u0053ervers\": {}}", `line 2 has "mcpServers" a second time`},
		"ours twice":           {"cursor", "{\"mcpServers\": {\"sentinel\": {},\n\"sentinel\": {}}}", `line 2 has "sentinel" a second time`},
		"another's":            {"cursor", "{\"mcpServers\": {\n\"sentinel\": {\"command\": \"npx\"}}}", `line 2 has a server named "sentinel" that does not run sentinel-mcp`},
		"another's, remote":    {"cursor", "{\"mcpServers\": {\"sentinel\": {\"url\": \"https://example.com\"}}}", "does not run sentinel-mcp"},
		"another's, text":      {"cursor", "{\"mcpServers\": {\"sentinel\": \"sentinel-mcp\"}}", "does not run sentinel-mcp"},
		"another's, number":    {"cursor", "{\"mcpServers\": {\"sentinel\": {\"command\": 7}}}", "does not run sentinel-mcp"},
		"nearly ours":          {"cursor", "{\"mcpServers\": {\"sentinel\": {\"command\": \"/x/not-sentinel-mcp\"}}}", "does not run sentinel-mcp"},
		"not UTF-8":            {"cursor", "{\n\"a\": \"\xff\"}", "line 2 is not in UTF-8"},
		"UTF-16":               {"cursor", "\xff\xfe{\x00}\x00", "line 1 is not in UTF-8"},
		"NUL":                  {"cursor", "{}\x00", "line 1, column 3"},
		"deep behind comments": {"cursor", "/* ]]] \" */ // \" ]]\n" + strings.Repeat("[", 100000), "nested deeper than 500 levels"},
		"deep":                 {"cursor", strings.Repeat("[", 100000), "nested deeper than 500 levels"},
		"comment, strict":      {"claude-desktop", "{\n  // x\n}", "line 2 has a comment, which this client does not read"},
		"block, strict":        {"claude-code", "{\n  \"a\": 1\n/* x */}", "line 3 has a comment"},
		"comma, strict":        {"claude-desktop", "{\n  \"a\": 1,\n}", "line 2 has a comma after the last member"},
		"comma, only comment":  {"gemini-cli", "{ // x\n  \"a\": [1,]\n}", "line 2 has a comma after the last member"},
		"open comment":         {"cursor", "{\n/* x }", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			u, c := person(t, "linux", nil), client(t, test.id)
			put(t, c.File(u), test.content)
			for verb, run := range map[string]func() (Change, error){
				"install":   func() (Change, error) { return Install(t.Context(), u, c, example, false) },
				"uninstall": func() (Change, error) { return Uninstall(t.Context(), u, c, false) },
			} {
				_, err := run()
				e, ok := errors.AsType[*fault.Error](err)
				if !ok || e.Code != fault.ConfigInvalid || !strings.Contains(e.Message, test.want) || !strings.Contains(e.Message, c.File(u)) || e.Fix == "" {
					t.Fatalf("%s: %v, want one with %q", verb, err, test.want)
				}
				if strings.Contains(e.Message, "secret") {
					t.Errorf("%s shows a key: %s", verb, e.Message)
				}
				if content(t, c.File(u)) != test.content || len(entries(t, filepath.Dir(c.File(u)))) != 1 {
					t.Errorf("%s touched it", verb)
				}
			}
		})
	}
}

func FuzzInstall(f *testing.F) {
	for _, c := range clients.Installable() {
		for _, text := range corpus(c) {
			f.Add(text, c.ID, "/usr/local/bin/sentinel-mcp", "--read-only")
		}
	}
	f.Fuzz(func(t *testing.T, before, id, command, arg string) {
		c, ok := clients.ByID(id)
		if !ok {
			c, _ = clients.ByID("cursor")
		}
		command = strings.ToValidUTF8(filepath.Join("/", command, clients.Program), "")
		e := Entry{Command: command, Args: []string{strings.ToValidUTF8(arg, "")}}
		after, err := install([]byte(before), c, e)
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); ok {
				t.Fatalf("%v: %q", err, before)
			}
			return
		}
		if got, ours := entryOf(after, c); !ours || got.Command != command || !slices.Equal(got.Args, e.Args) {
			t.Fatalf("%+v in %q of %q", got, after, before)
		}
		if again, err := install(after, c, e); err != nil || string(again) != string(after) {
			t.Fatalf("a second time: %q, %v", again, err)
		}
		back, err := remove(after, c)
		if err != nil {
			t.Fatalf("%v: %q", err, after)
		}
		one, two, three := members(t, before, c), members(t, string(after), c), members(t, string(back), c)
		if !cmp.Equal(one, two) || !cmp.Equal(one, three) {
			t.Fatalf("%q became %q, then %q", before, after, back)
		}
	})
}

// members reads a configuration without our entry and what it alone is in.
func members(t *testing.T, raw string, c clients.Client) map[string]any {
	t.Helper()
	if strings.TrimSpace(strings.TrimPrefix(raw, bom)) == "" {
		return map[string]any{}
	}
	v := values(t, raw)
	if servers, ok := v[c.Servers].(map[string]any); ok {
		delete(servers, "sentinel")
		if len(servers) == 0 {
			delete(v, c.Servers)
		}
	}
	return v
}

func TestEntryLooksLikeTheRestOfTheFile(t *testing.T) {
	const e = "/u/sentinel-mcp"
	for name, test := range map[string]struct{ before, want string }{
		"windows": {
			"{\r\n\t\"servers\": {\r\n\t\t\"a\": {} // x\r\n\t}\r\n}\r\n",
			"{\r\n\t\"servers\": {\r\n\t\t\"a\": {}, // x\r\n\t\t\"sentinel\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": \"/u/sentinel-mcp\",\r\n\t\t\t\"args\": []\r\n\t\t}\r\n\t}\r\n}\r\n",
		},
		"comments": {
			"{\n    // mine\n    \"servers\": {\n        // \"old\": {},\n    },\n}",
			"{\n    // mine\n    \"servers\": {\n        // \"old\": {},\n        \"sentinel\": {\n            \"type\": \"stdio\",\n            \"command\": \"/u/sentinel-mcp\",\n            \"args\": []\n        }\n    },\n}",
		},
		"block comment behind": {
			"{\n  \"servers\": {\n    \"a\": {}, /* x */\n    /* y */\n  }\n}",
			"{\n  \"servers\": {\n    \"a\": {}, /* x */\n    \"sentinel\": {\n      \"type\": \"stdio\",\n      \"command\": \"/u/sentinel-mcp\",\n      \"args\": []\n    },\n    /* y */\n  }\n}",
		},
		"one line":        {`{"a":1}`, `{"a":1,"servers":{"sentinel":{"type":"stdio","command":"/u/sentinel-mcp","args":[]}}}`},
		"one spaced line": {`{ "a": 1 }`, `{ "a": 1, "servers": {"sentinel": {"type": "stdio", "command": "/u/sentinel-mcp", "args": []}} }`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := install([]byte(test.before), client(t, "vscode"), Entry{Command: e, Args: []string{}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Should an edit ever go wrong, nothing is written.
func TestEditThatTouchesOthersIsNotDone(t *testing.T) {
	c := client(t, "cursor")
	raw := `{"mcpServers":{"b":{"x":1},"sentinel":{"command":"/u/sentinel-mcp"}},"z":2}`
	parsed, err := parse([]byte(raw), c.Install.Syntax)
	if err != nil {
		t.Fatal(err)
	}
	any := func(Entry, bool) bool { return true }
	for name, s := range map[string]splice{
		"another server": {strings.Index(raw, "1"), strings.Index(raw, "1") + 1, "3"},
		"another member": {strings.Index(raw, "2"), strings.Index(raw, "2") + 1, "3"},
		"one more":       {len(raw) - 1, len(raw) - 1, `,"y":1`},
		"no JSON":        {0, 1, ""},
	} {
		if after, err := parsed.changed([]splice{s}, c, any); err == nil {
			t.Errorf("%s: %s", name, after)
		}
	}
	ours := splice{strings.Index(raw, "/u"), strings.Index(raw, "/u") + 2, "/v"}
	if after, err := parsed.changed([]splice{ours}, c, any); err != nil {
		t.Errorf("%s, %v", after, err)
	}
	if after, err := parsed.changed([]splice{ours}, c, func(Entry, bool) bool { return false }); err == nil {
		t.Errorf("not what was wanted: %s", after)
	}
}
