// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
)

const guardProgram = "/usr/local/bin/sentinel-guard"

func every(string) bool { return true }

// changedBy returns what an edition makes of a configuration.
func changedBy(t interface{ Fatalf(string, ...any) }, c clients.Client, raw string, change edition) (string, []Server) {
	after, servers, err := rewrap([]byte(raw), c, change)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return string(after), servers
}

func toWrap(t text, e entry) []splice   { return t.wrap(e, guardProgram) }
func toUnwrap(t text, e entry) []splice { return t.unwrap(e) }

func TestAnEntryKeepsItsLayoutBehindTheGuard(t *testing.T) {
	for name, test := range map[string]struct{ client, before, after string }{
		"one line": {"claude-code", `{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"B_TOKEN":"1","A":"2"}}}}`,
			`{"mcpServers":{"a":{"command":"/usr/local/bin/sentinel-guard","args":["run", "--name=a", "--env=B_TOKEN", "--env=A", "--", "npx", "-y","x"],"env":{"B_TOKEN":"1","A":"2"}}}}`},
		"lines": {"cursor", "{\n  \"mcpServers\": {\n    // mine\n    \"a\": {\n      \"command\": \"npx\", // why\n      \"args\": [\n        \"-y\", // yes\n        \"x\",\n      ],\n    },\n  },\n}\n",
			"{\n  \"mcpServers\": {\n    // mine\n    \"a\": {\n      \"command\": \"/usr/local/bin/sentinel-guard\", // why\n      \"args\": [\n        \"run\",\n        \"--name=a\",\n        \"--\",\n        \"npx\",\n        \"-y\", // yes\n        \"x\",\n      ],\n    },\n  },\n}\n"},
		"no args": {"vscode", "{\r\n\t\"servers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"command\": \"\\u0061\\/b\"\r\n\t\t}\r\n\t}\r\n}",
			"{\r\n\t\"servers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"command\": \"/usr/local/bin/sentinel-guard\",\r\n\t\t\t\"args\": [\"run\", \"--name=a\", \"--no-args\", \"--\", \"\\u0061\\/b\"]\r\n\t\t}\r\n\t}\r\n}"},
		"a project": {"claude-code", `{"projects": {"/p": {"mcpServers": {"a": {"args": [], "command": "/bin/x y"}}}}}`,
			`{"projects": {"/p": {"mcpServers": {"a": {"args": ["run", "--name=a", "--", "/bin/x y"], "command": "/usr/local/bin/sentinel-guard"}}}}}`},
		"our own": {"claude-desktop", `{"mcpServers": {"s": {"command": "/opt/sentinel/bin/sentinel-mcp"}}}`,
			`{"mcpServers": {"s": {"command": "/usr/local/bin/sentinel-guard", "args": ["run", "--name=s", "--preset=sentinel", "--no-args", "--", "/opt/sentinel/bin/sentinel-mcp"]}}}`},
		"a hostile name": {"cursor", `{"mcpServers": {"-x\n\"${B}": {"command": "c"}}}`,
			`{"mcpServers": {"-x\n\"${B}": {"command": "/usr/local/bin/sentinel-guard", "args": ["run", "--name=-x_\"_{B}", "--no-args", "--", "c"]}}}`},
	} {
		c := client(t, test.client)
		after, servers := changedBy(t, c, test.before, toWrap)
		if diff := cmp.Diff(test.after, after); diff != "" || len(servers) != 1 || !servers[0].Wrapped || servers[0].Before == nil {
			t.Errorf("%s: %+v\n%s", name, servers, diff)
		}
		if again, servers := changedBy(t, c, after, toWrap); again != after || servers[0].Before != nil {
			t.Errorf("%s: a second time makes %s", name, again)
		}
		if back, _ := changedBy(t, c, after, toUnwrap); back != test.before {
			t.Errorf("%s: back is %s", name, back)
		}
	}
}

func TestWhatCannotBeWrappedIsNamedWithTheReason(t *testing.T) {
	for entry, why := range map[string]string{
		`{"url": "https://x"}`:                                    "over the network",
		`{"type": "sse", "command": "x"}`:                         "over the network",
		`{"type": "stdio"}`:                                       "it has no command",
		`{"command": "x", "disabled": true}`:                      "disabled",
		`{"command": "npx -y x"}`:                                 "a whole line",
		`{"command": ["x"]}`:                                      "not a text",
		`{"command": "x", "args": "y"}`:                           "not a list of texts",
		`{"command": "x", "args": [1]}`:                           "not a list of texts",
		`{"command": "x", "command": "y"}`:                        `"command" twice`,
		`{"command": "/b/sentinel-guard", "args": ["--version"]}`: "a form that wrap does not write",
		`5`:                                      "no object",
		`{"command": "sh", "args": ["-c", "x"]}`: "",
		`{"command": "cmd", "args": ["/c", "npx", "x"]}`:                           "",
		`{"command": "sentinel-guard", "args": ["--", "x"]}`:                       "",
		`{"command": "${HOME}/x y"}`:                                               "",
		`{"command": "/o/sentinel-guard", "args": ["run", "--name=a", "--", "x"]}`: "",
	} {
		raw := `{"mcpServers": {"a": ` + entry + `, "b": {"command": "y"}}}`
		after, servers := changedBy(t, client(t, "cursor"), raw, toWrap)
		if !strings.Contains(servers[0].Why, why) || (servers[0].Why == "") != (why == "") || servers[0].Wrapped != (why == "") || !servers[1].Wrapped {
			t.Errorf("%s: %+v", entry, servers)
		}
		if why != "" && !strings.HasPrefix(after, `{"mcpServers": {"a": `+entry+`, "b"`) {
			t.Errorf("%s is changed: %s", entry, after)
		}
	}
}

// An entry is brought up to date, and what somebody has added to it stays.
func TestAnEntryBehindAnotherGuardIsRecognised(t *testing.T) {
	c := client(t, "cursor")
	raw := `{"mcpServers": {"new": {"command": "/old/sentinel-guard", "args": ["run", "--name=old", "--max-message=9", "--", "x", "--", "y"], "env": {"E": ""}}, "hand": {"command": "/old/sentinel-guard", "args": ["--", "x"]}}}`
	want := `{"mcpServers": {"new": {"command": "/usr/local/bin/sentinel-guard", "args": ["run", "--name=new", "--env=E", "--max-message=9", "--", "x", "--", "y"], "env": {"E": ""}}, "hand": {"command": "/old/sentinel-guard", "args": ["--", "x"]}}}`
	if got, _ := changedBy(t, c, raw, toWrap); got != want {
		t.Error(cmp.Diff(want, got))
	}
	want = `{"mcpServers": {"new": {"command": "x", "args": ["--", "y"], "env": {"E": ""}}, "hand": {"command": "x", "args": []}}}`
	if got, _ := changedBy(t, c, raw, toUnwrap); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// A client that lays its file out anew gets an entry back that means the same.
func TestAnEntryThatWasLaidOutAnewIsUnwrapped(t *testing.T) {
	c := client(t, "claude-code")
	for _, entry := range []string{`{"command":"a"}`, `{"command":"a","args":[]}`, `{"args":["b","c"],"command":"a"}`} {
		after, _ := changedBy(t, c, `{"mcpServers":{"a":`+entry+`}}`, toWrap)
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		if err := e.Encode(values(t, after)); err != nil {
			t.Fatal(err)
		}
		back, _ := changedBy(t, c, b.String(), toUnwrap)
		if diff := cmp.Diff(values(t, `{"mcpServers":{"a":`+entry+`}}`), values(t, back)); diff != "" {
			t.Error(diff)
		}
	}
}

// layouts draws configurations as people and clients write them.
func layouts(c clients.Client) *rapid.Generator[string] {
	lenient, comments := c.Install.Syntax == clients.Lenient, c.Install.Syntax != clients.Strict
	return rapid.Custom(func(t *rapid.T) string {
		blankOf := func() string {
			all := []string{"", " ", "\n", "\n    ", "\r\n\t", "  "}
			if comments {
				all = append(all, "/* c , ] */", " // c \" ]\n  ")
			}
			return rapid.SampledFrom(all).Draw(t, "blank")
		}
		join := func(open, end string, items []string) string {
			out := open + blankOf()
			for i, item := range items {
				if i > 0 {
					out += "," + blankOf()
				}
				out += item + blankOf()
			}
			if lenient && len(items) > 0 && rapid.Bool().Draw(t, "comma") {
				out += "," + blankOf()
			}
			return out + end
		}
		word := func() string {
			return rapid.SampledFrom([]string{`"a"`, `"--"`, `"run"`, `"-y"`, `""`, `"\u0062\/c"`, `"--name=x"`, `"--no-args"`, `"sentinel-guard"`, `"é \" x"`}).Draw(t, "word")
		}
		words := func() (all []string) {
			for range rapid.IntRange(0, 3).Draw(t, "words") {
				all = append(all, word())
			}
			return all
		}
		pair := func(name, value string) string { return name + blankOf() + ":" + blankOf() + value }
		server := func() string {
			members := []string{pair(`"command"`, rapid.SampledFrom([]string{`"a"`, `"\u0061"`, `"/x/sentinel-mcp"`, `"sh"`, `""`, `"a b"`, `7`}).Draw(t, "command"))}
			if rapid.Bool().Draw(t, "args") {
				members = append(members, pair(`"args"`, join("[", "]", words())))
			}
			if rapid.Bool().Draw(t, "env") {
				members = append(members, pair(`"env"`, join("{", "}", []string{pair(`"A"`, `"1"`), pair(`"B,=$"`, `"2"`)})))
			}
			if rapid.Bool().Draw(t, "more") {
				members = append(members, pair(`"type"`, `"stdio"`))
			}
			return join("{", "}", rapid.Permutation(members).Draw(t, "members"))
		}
		servers := func() string {
			var all []string
			for _, name := range rapid.SampledFrom([][]string{{}, {`"s"`}, {`"sentinel"`, `"-x"`}, {`"a"`, `"a"`}}).Draw(t, "names") {
				all = append(all, pair(name, server()))
			}
			return join("{", "}", all)
		}
		members := []string{pair(`"other"`, `[1, {"command": "x"}]`), pair(quote(c.Servers), servers())}
		if c.Install.Projects != "" {
			members = append(members, pair(quote(c.Install.Projects), join("{", "}", []string{pair(`"/p"`, join("{", "}", []string{pair(quote(c.Servers), servers())}))})))
		}
		return rapid.SampledFrom([]string{"", bom}).Draw(t, "mark") + blankOf() + join("{", "}", members) + blankOf()
	})
}

// ofProject returns the clients that have a file in a project, with that file.
func ofProject(t *testing.T) []clients.Client {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", ".github/mcp.json"} {
		put(t, filepath.Join(dir, path), "")
	}
	all := clients.InProject(person(t, "linux", nil), dir)
	if len(all) != 5 {
		t.Fatalf("%+v", all)
	}
	return all
}

// Whatever a configuration looks like: wrapped twice is wrapped once, unwrapped is the same bytes,
// and nothing but commands and arguments differs.
func TestWrappingIsUndoneExactly(t *testing.T) {
	for _, c := range append(clients.Installable(), ofProject(t)...) {
		program := guardProgram
		if c.Folder != "" {
			program = clients.Guard
		}
		toWrap := func(t text, e entry) []splice { return t.wrap(e, program) }
		t.Run(c.ID+c.Folder, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				raw := layouts(c).Draw(t, "file")
				after, servers := changedBy(t, c, raw, toWrap)
				for _, s := range servers {
					if s.Wrapped == (s.Why != "") {
						t.Fatalf("%+v", s)
					}
				}
				if again, _ := changedBy(t, c, after, toWrap); again != after {
					t.Fatalf("wrapped twice:\n%s\n%s", after, again)
				}
				if back, _ := changedBy(t, c, after, toUnwrap); back != raw {
					t.Fatalf("unwrapped:\n%q\n%q", raw, back)
				}
			})
		})
	}
}

func TestOnlyTheServerThatIsMeantIsWrapped(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	const raw = `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`
	put(t, c.File(u), raw)
	only := func(name string) bool { return name == "b" }
	dry, err := Wrap(t.Context(), u, c, guardProgram, only, true)
	if err != nil || !dry.Changed || content(t, c.File(u)) != raw {
		t.Fatalf("%+v, %v", dry, err)
	}
	if _, err := Wrap(t.Context(), u, c, guardProgram, only, false); err != nil {
		t.Fatal(err)
	}
	after := content(t, c.File(u))
	if !strings.HasPrefix(after, `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "`+guardProgram) || !slices.Equal(entries(t, filepath.Dir(c.File(u))), []string{"mcp.json"}) {
		t.Error(after, entries(t, filepath.Dir(c.File(u))))
	}
	if w, err := Unwrap(t.Context(), u, c, every, false); err != nil || !w.Changed || content(t, c.File(u)) != raw {
		t.Errorf("%+v, %v: %s", w, err, content(t, c.File(u)))
	}
}

// Links, modes and writers in between are those of --install: the same code.
func TestWrapRefusesWhatInstallRefuses(t *testing.T) {
	c := client(t, "claude-code")
	for name, test := range map[string]struct {
		raw  string
		mode os.FileMode
		code fault.Code
	}{
		"no JSON":   {`{"mcpServers": {"a": `, 0o600, fault.ConfigInvalid},
		"read-only": {`{"mcpServers": {"a": {"command": "x"}}}`, 0o400, fault.PermissionDenied},
		"huge":      {strings.Repeat(" ", maxSize+1), 0o600, fault.ConfigInvalid},
	} {
		u := person(t, "linux", nil)
		put(t, c.File(u), test.raw)
		if err := os.Chmod(c.File(u), test.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Wrap(t.Context(), u, c, guardProgram, every, false)
		if f := fault.NewDocument("x", err); f.ErrorCode != test.code || content(t, c.File(u)) != test.raw {
			t.Errorf("%s: %v", name, err)
		}
	}
	u := person(t, "linux", nil)
	if w, err := Wrap(t.Context(), u, c, guardProgram, every, false); err != nil || w.Changed || len(w.Servers) != 0 {
		t.Errorf("without a file: %+v, %v", w, err)
	}
}

// --install and --uninstall see through the guard, and leave it where it is.
func TestOurOwnEntryLivesBehindTheGuard(t *testing.T) {
	for _, c := range clients.Installable() {
		for _, raw := range corpus(c) {
			u := person(t, "linux", nil)
			put(t, c.File(u), raw)
			e := Entry{Command: "/usr/local/bin/sentinel-mcp", Args: []string{"--read-only"}, Guard: guardProgram}
			change, err := Install(t.Context(), u, c, e, false)
			if err != nil || change.Entry.Guard != guardProgram {
				t.Fatalf("%s: %+v, %v in %s", c.ID, change, err, raw)
			}
			after := content(t, c.File(u))
			if !strings.Contains(after, `"--preset=sentinel"`) {
				t.Fatal(after)
			}
			for _, again := range []Entry{e, {Command: e.Command}, {Command: e.Command, Args: e.Args}} {
				if change, err = Install(t.Context(), u, c, again, false); err != nil || change.Changed || change.Entry.Guard != guardProgram {
					t.Fatalf("%s: %+v, %v", c.ID, change, err)
				}
			}
			if _, err = Install(t.Context(), u, c, Entry{Command: e.Command, Args: []string{"--other"}}, false); err != nil || !strings.Contains(content(t, c.File(u)), `--other`) || !strings.Contains(content(t, c.File(u)), guardProgram) {
				t.Fatalf("%v: %s", err, content(t, c.File(u)))
			}
			if _, err = Uninstall(t.Context(), u, c, false); err != nil || content(t, c.File(u)) != raw {
				t.Fatalf("%s: %v\n%s\n%s", c.ID, err, raw, content(t, c.File(u)))
			}
		}
	}
}
