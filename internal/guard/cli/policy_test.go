// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/policy"
)

func TestPolicyCommands(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("MCP_POLICY_FILE", "")
	os.Unsetenv("MCP_POLICY_FILE")
	t.Setenv("MCP_HITL_PORT", "8888")
	file := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.yaml", "rules:\n  - {name: no-b, tools: ['s:b*'], action: block, reason: Use a.}\n")
	bad := file("bad.yaml", "rules:\n  - {name: r, action: shut}\n")
	long := file("long.yaml", "rules:\n  - {name: a-rule-with-a-name-that-takes-much-of-the-line, tools: ['x'], action: block}\n")
	bounded := file("bounded.yaml", "limits: {calls_per_minute: 5, per_tool: {'s:*': 2}}\n")
	old := file("old.yaml", "rules:\n  - {id: a, target_tool: 'x', action: allow}\n  - {id: b, target_tool: '*', action: block}\n")
	calls := file("calls.jsonl", `{"server":"s","name":"b1","expect":"block"}`+"\n\n"+`{"server":"s","name":"a","expect":"allow"}`+"\n")
	wrong := file("wrong.jsonl", `{"server":"s","name":"b1","expect":"allow"}`+"\n")
	broken := file("broken.jsonl", `{"server":"s","tool":"b1"}`+"\n")
	for _, c := range []struct {
		args   string
		status int
		stdout string
		stderr string
	}{
		{"policy --help", 0, "explain", ""},
		{"policy show", 0, "There is no file of rules", ""},
		{"policy check", 0, "There is no file of rules", ""},
		{"policy check " + good, 0, "good.yaml: valid, 1 rule\n", "MCP_HITL_PORT: not used yet"},
		{"policy explain s:b --rules " + bounded, 0, "Limits besides: 5 calls a minute, 2 of s:*\n", ""},
		{"policy check " + bad, StatusFound, `action is "shut"`, ""},
		{"policy check --json " + bad, StatusFound, `"line": 2`, ""},
		{"policy check " + old, StatusFound, "wins over the rule", ""},
		{"policy check " + filepath.Join(home, "none.yaml"), StatusFound, "cannot be read", ""},
		{"policy test " + good + " " + calls, 0, "   1  block by no-b (line 2)\n   3  allow (by default)\n2 calls, 0 not as expected", ""},
		{"policy test " + good + " " + wrong, StatusFound, "block by no-b (line 2), expected allow", ""},
		{"policy test --json " + good + " " + wrong, StatusFound, `"failed": 1`, ""},
		{"policy test " + good + " " + broken, StatusUnjudged, "", `line 1: json: unknown field "tool"`},
		{"policy test " + bad, StatusFound, "", "bad.yaml:2:23"},
		{"policy explain s:b --rules " + good, 0, "block by no-b (line 2)\n  Use a.\nyes good.yaml:2 no-b (block): it has no conditions\n", ""},
		{"policy explain --json s:a --rules " + good, 0, `"matched": false`, ""},
		{"policy explain b", StatusUsage, "", "Write SERVER:TOOL"},
		{"policy explain s:b --method ping", StatusUsage, "", "no rule holds for the method"},
		{"policy explain a:delete_b --rules " + long, 0, "no  long.yaml:2 a-rule-with-a-name-that-takes-much-of-the-line (block): it is\n    about other tools or methods\n", ""},
		{"policy init --preset nothing", StatusUsage, "", "there are filesystem, git, read-only, sentinel, sql"},
		{"policy init --preset git", 0, "Wrote " + home, ""},
		{"policy init --preset git", StatusFound, "", "is there already"},
		{"policy check", 0, "guard.yaml: valid, 4 rules", ""},
		{"policy show", 0, "allow_with_approval  publishing-needs-a-person", ""},
		{"policy show --json", 0, `"default": "allow"`, ""},
		{"policy explain any:git_push", 0, "allow_with_approval by publishing-needs-a-person", ""},
	} {
		status, stdout, stderr := run(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: status %d\n%s\n%s", c.args, status, stdout, stderr)
		}
		for line := range strings.Lines(stdout) {
			if !strings.Contains(c.args, "--") && !strings.Contains(line, home) && len([]rune(strings.TrimRight(line, "\n"))) > width {
				t.Errorf("%s prints a line of more than %d columns: %s", c.args, width, line)
			}
		}
	}
}

// What holds together is told where somebody looks for it, whether files or variables set it.
func TestPolicyTellsTheLimitsInForce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"home/.config/sentinel/guard.yaml": "limits: {calls_per_minute: 9, concurrency: 3, per_tool: {'s:*': 2}}\n",
		"project.yaml":                     "limits: {calls_per_minute: 5, per_tool: {'t:x': 1}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "home/.config"))
	t.Setenv("MCP_POLICY_FILE", filepath.Join(dir, "project.yaml"))
	t.Setenv("MCP_MAX_CALLS_PER_TOOL", "7")
	const merged = "5 calls a minute, 2 of s:*, 1 of t:x, 3 at once, 7 calls of each tool in 60 seconds (MCP_MAX_CALLS_PER_TOOL)"
	for args, want := range map[string]string{"policy show": "Limits in force: " + merged, "policy explain s:a": "Limits besides: " + merged} {
		_, stdout, stderr := run(t, strings.Fields(args)...)
		if got := strings.Join(strings.Fields(stdout), " "); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\n%s", args, stdout, stderr)
		}
		_, stdout, stderr = run(t, append(strings.Fields(args), "--json")...)
		var told struct {
			Limits    policy.Limits
			Variables map[string]int
		}
		if err := json.Unmarshal([]byte(stdout), &told); err != nil {
			t.Fatal(err, stdout, stderr)
		}
		l := told.Limits
		if l.CallsPerMinute != 5 || l.Concurrency != 3 || len(l.PerTool) != 2 || told.Variables["calls_per_tool"] != 7 || told.Variables["window_seconds"] != 60 {
			t.Errorf("%s: %+v", args, told)
		}
	}
	t.Setenv("MCP_MAX_CALLS_PER_TOOL", "x")
	if status, _, stderr := run(t, "policy", "show"); status != StatusUsage || !strings.Contains(stderr, `MCP_MAX_CALLS_PER_TOOL is "x"`) {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestServersHaveTheNameOfTheirProgram(t *testing.T) {
	for command, want := range map[string]string{
		"sentinel-mcp": "sentinel-mcp", "/usr/bin/server --x": "server", "npx -y @modelcontextprotocol/server-filesystem@1.2 /x": "server-filesystem", "uvx mcp-server-git==1": "mcp-server-git",
	} {
		if got := serverName(runCommand(), strings.Fields(command)); got != want {
			t.Errorf("%s is %q, want %q", command, got, want)
		}
	}
	cmd := runCommand()
	if err := cmd.Flags().Set(nameFlag, "mine"); err != nil || serverName(cmd, []string{"x"}) != "mine" {
		t.Error("the name that the user gave is not taken")
	}
}

// A file of rules that others can write is named once, and in the command that mends it.
func TestPolicyCheckNamesAFileOfOthersOnce(t *testing.T) {
	atHome(t, nil)
	os.Unsetenv("MCP_POLICY_FILE")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, folder := filepath.Join(dir, "guard.yaml"), filepath.Join(dir, "open")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(folder, "guard.yaml")
	for _, one := range []string{path, below} {
		if err := os.WriteFile(one, []byte("version: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for of, mode := range map[string]os.FileMode{path: 0o666, folder: 0o777} {
		if err := os.Chmod(of, mode); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		path:  path + ": it can be written by others (chmod go-w " + path + ")",
		below: below + ": " + folder + " can be written by others",
	} {
		if status, stdout, stderr := run(t, "policy", "check", file); status != StatusFound || strings.Join(strings.Fields(stdout), " ") != want {
			t.Errorf("status %d: %q%q, want %q", status, stdout, stderr, want)
		}
	}
}
