// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// A started is what a client starts of an entry.
type started struct {
	Command string
	Args    []string
	Env     map[string]string
}

// startedBy returns what a client that reads plain JSON starts.
func startedBy(t *testing.T, raw string) map[string]started {
	t.Helper()
	var file struct{ MCPServers map[string]started }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(raw, bom)), &file); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return file.MCPServers
}

// Whatever names, commands and arguments are: behind the guard, the same program starts with the
// same arguments and variables.
func TestTheGuardStartsWhatTheClientStarted(t *testing.T) {
	commands := []string{`"npx"`, `"--"`, `"-x"`, `"run"`, `"/opt/a b/c"`, `"/x \"q\" 'r' $(id)"`, `"cmd"`, `"\u0063md\/x"`, `"\ud800"`, `"/\ud83d\ude00"`, `"${HOME}/a b"`, `"~/a b"`, `"sentinel-mcp"`, `"\u0000"`, `"-"`}
	arguments := []string{``, `[]`, `["--"]`, `["--", "x", "--"]`, `["/c", "npx", "-y", "x"]`, `["run", "--name=y", "--no-args", "--"]`, `["a b", "\"", "'", "$(id)", "\\", "\n", ""]`, `["\ud800", "\u2028", "\u202e"]`, `[
		"one",
		"two"
	]`}
	names := []string{`"a"`, `"--"`, `"-"`, `""`, `"run"`, `"a\nb"`, `"__proto__"`, `"\ud800"`, `"é \" x"`, `"${x}"`, `"sentinel"`, quote(strings.Repeat("n", 5000))}
	c := client(t, "claude-code")
	for _, name := range names {
		for _, command := range commands {
			for _, args := range arguments {
				entry := `"env": {"": "1", "A=B": "2", "--": "3", "X Y": "4"}, "command": ` + command
				if args != "" {
					entry += `, "args": ` + args
				}
				raw := `{"mcpServers": {` + name + `: {` + entry + `}}}`
				after, servers := changedBy(t, c, raw, toWrap)
				if !servers[0].Wrapped {
					t.Fatalf("%s: %+v", raw, servers)
				}
				for name, was := range startedBy(t, raw) {
					is := startedBy(t, after)[name]
					if want := append([]string{was.Command}, was.Args...); is.Command != guardProgram || !slices.Equal(clients.Behind(is.Command, is.Args), want) || !cmp.Equal(is.Env, was.Env) {
						t.Fatalf("%s\nis behind the guard\n%s", raw, after)
					}
				}
				if again, _ := changedBy(t, c, after, toWrap); again != after {
					t.Fatalf("a second time: %s\n%s", after, again)
				}
				if back, _ := changedBy(t, c, after, toUnwrap); back != raw {
					t.Fatalf("unwrapped:\n%s\n%s", raw, back)
				}
			}
		}
	}
}

// What cannot be read in one way keeps every byte, and the refusal says where it is.
func TestHostileFilesAreLeft(t *testing.T) {
	c := client(t, "claude-code")
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"s%d":{"command":"x"}`, i)
		}
		return `{` + strings.TrimPrefix(b.String(), ",") + `}`
	}
	testenv.HangGuard(t)
	for name, test := range map[string]struct{ raw, why string }{
		"no UTF-8":               {"{\n\"mcpServers\": {\"a\": {\"command\": \"\xff\"}}}", "line 2 is not in UTF-8"},
		"servers twice":          {"{\"mcpServers\": {},\n\"mcpServers\": {\"a\": {\"command\": \"x\"}}}", `line 2 has "mcpServers" a second time`},
		"servers twice, escaped": {"{\"mcpServers\": {},\n\"mcpS\\u0065rvers\": {}}", `line 2 has "mcpServers" a second time`},
		"twice in a project":     {"{\"projects\": {\"/p\": {\"mcpServers\": {},\n\"mcpServers\": {}}}}", "line 2 has"},
		"a zero byte":            {"{\"mcpServers\": {\x00}}", "line 1"},
		"two objects":            {"{\"mcpServers\": {}}\n{\"mcpServers\": {}}", "line 2"},
		"a list":                 {"[]", "not one JSON object"},
		"cut short":              {"{\"mcpServers\": {\"a\": {\"command\": \"x\"", "line 1"},
		"nested":                 {strings.Repeat(`{"a":`, 600), "nested deeper"},
		"nested behind strings":  {`{"]]]": "` + strings.Repeat("]", 1000) + `", "a": ` + strings.Repeat(`{"a":`, 600), "nested deeper"},
		"many servers":           {`{"mcpServers":` + many(100_000) + `}`, "more than 500 servers"},
		"many in projects":       {`{"mcpServers":` + many(300) + `,"projects":{"/p":{"mcpServers":` + many(300) + `}}}`, "more than 500 servers"},
	} {
		u := person(t, "linux", nil)
		put(t, c.File(u), test.raw)
		for _, change := range []func() error{
			func() error { _, err := Wrap(t.Context(), u, c, guardProgram, every, false); return err },
			func() error { _, err := Unwrap(t.Context(), u, c, every, false); return err },
			func() error { _, err := Servers(t.Context(), u, c); return err },
		} {
			if err := change(); err == nil || !strings.Contains(err.Error(), test.why) || content(t, c.File(u)) != test.raw {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A large file, behind a link, with what a client has kept in it beside the servers.
func TestALargeFileBehindALinkIsWrappedAndUnwrapped(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "claude-code")
	history := strings.Repeat(`"{ [ \" // the \"command\": \"npx\" of \u202e",`+"\r\n", 200_000)
	raw := bom + "{\r\n\"history\": [\r\n" + history + "1e400, 0.10, -0],\r\n\t\"mcpServers\": {\"a\": {\"command\": \"x\"}}}"
	if len(raw) < 8<<20 {
		t.Fatalf("only %d bytes", len(raw))
	}
	kept := filepath.Join(u.Home, "dotfiles", "claude.json")
	put(t, kept, raw)
	if err := os.Symlink(kept, c.File(u)); err != nil {
		t.Fatal(err)
	}
	if w, err := Wrap(t.Context(), u, c, guardProgram, every, false); err != nil || !w.Changed {
		t.Fatalf("%+v, %v", w, err)
	}
	if after := content(t, kept); strings.Replace(after, `"`+guardProgram+`", "args": ["run", "--name=a", "--no-args", "--", "x"]`, `"x"`, 1) == after || !strings.HasPrefix(after, raw[:len(raw)-30]) {
		t.Error("something else was changed")
	}
	if _, err := Unwrap(t.Context(), u, c, every, false); err != nil || content(t, kept) != raw {
		t.Errorf("%v", err)
	}
	if target, err := os.Readlink(c.File(u)); err != nil || target != kept {
		t.Errorf("the link is gone: %v", err)
	}
}

// Runs at the same time, a server each, take turns; what loses its turn three times says so.
func TestRunsAtOnceWrapEachItsServer(t *testing.T) {
	testenv.HangGuard(t)
	u, c := person(t, "linux", nil), client(t, "cursor")
	var members []string
	for i := range 8 {
		members = append(members, fmt.Sprintf(`"s%d": {"command": "c%d"}`, i, i))
	}
	raw := "{\"mcpServers\": {\n" + strings.Join(members, ", // mine\n") + "\n}}\n"
	put(t, c.File(u), raw)
	eachAtOnce := func(change func(only func(string) bool) error) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				only := func(name string) bool { return name == fmt.Sprintf("s%d", i) }
				err := change(only)
				for f, _ := errors.AsType[*fault.Error](err); f != nil && f.Code == fault.Unavailable; f, _ = errors.AsType[*fault.Error](err) {
					err = change(only)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	eachAtOnce(func(only func(string) bool) error {
		_, err := Wrap(t.Context(), u, c, guardProgram, only, false)
		return err
	})
	w, err := Servers(t.Context(), u, c)
	if err != nil || len(w.Servers) != 8 || slices.ContainsFunc(w.Servers, func(s Server) bool { return !s.Wrapped }) {
		t.Errorf("%+v, %v", w, err)
	}
	eachAtOnce(func(only func(string) bool) error {
		_, err := Unwrap(t.Context(), u, c, only, false)
		return err
	})
	if got := content(t, c.File(u)); got != raw || !slices.Equal(entries(t, filepath.Dir(c.File(u))), []string{"mcp.json"}) {
		t.Errorf("%s", got)
	}
}
