// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

const claudeCode = `{
  "numStartups": 7,
  "mcpServers": {
    "memory": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory", "--api-key=hunter2hunter2"],
      "env": {"MEMORY_FILE_PATH": "/home/a/memory.json"}
    },
    "far": {"type": "http", "url": "https://example.org/mcp"},
    "off": {"command": "x", "disabled": true}
  },
  "projects": {
    "/srv/p": {"mcpServers": {"db": {"command": "/opt/db/server"}}}
  }
}
`

// atHome gives a test a home with these files, and a guard that is installed.
func atHome(t *testing.T, files map[string]string) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": "", "COPILOT_HOME": "", "SUDO_UID": "", "MCP_POLICY_FILE": ""} {
		t.Setenv(name, value)
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	installed, folder := guardProgram, workingFolder
	t.Cleanup(func() { guardProgram, workingFolder = installed, folder })
	workingFolder = func() (string, error) { return home, nil }
	guardProgram = func() (string, error) { return "/usr/local/bin/sentinel-guard", nil }
	return home
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestWrapShowsWhatItWouldDo(t *testing.T) {
	home := atHome(t, map[string]string{".claude.json": claudeCode})
	status, stdout, stderr := run(t, "wrap", "--client", "claude-code", "--dry-run")
	stdout = strings.ReplaceAll(stdout, home, "/home/a")
	if status != 0 || stderr != "" || read(t, filepath.Join(home, ".claude.json")) != claudeCode {
		t.Fatalf("status %d: %s", status, stderr)
	}
	const golden = "testdata/wrap.dry-run.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, golden), stdout); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(stdout, "hunter2") {
		t.Error("shows a secret")
	}
	for line := range strings.Lines(stdout) {
		if len([]rune(line)) > width+1 {
			t.Errorf("a line of more than %d columns: %s", width, line)
		}
	}
}

func TestWrapAndUnwrap(t *testing.T) {
	const broken = `{"mcpServers": {`
	home := atHome(t, map[string]string{
		".claude.json": claudeCode, ".cursor/mcp.json": broken, ".config/zed/settings.json": "{}", ".config/Claude/claude_desktop_config.json": "{}", ".config/Claude/Claude Extensions/ant.dir.x/manifest.json": "{}",
	})
	path := filepath.Join(home, ".claude.json")
	for _, c := range []struct {
		args   string
		status int
		stdout string
		stderr string
	}{
		{"wrap", StatusUsage, "", "which client?"},
		{"wrap --client nobody", StatusUsage, "", "known are claude-desktop"},
		{"wrap --client zed", 0, "its configuration is not edited here", ""},
		{"wrap --client cursor --all", StatusUsage, "", "do not go together"},
		{"wrap --client claude-code --server nobody", StatusUsage, "", `has a server named "nobody"`},
		{"wrap --client vscode", 0, "no servers", ""},
		{"wrap --client cursor", StatusUnjudged, "is left as it is", ""},
		{"unwrap --client claude-code", 0, "not wrapped", ""},
		{"wrap --client claude-code --server memory", 0, "memory (line 4): wrapped", ""},
		{"wrap --all", StatusUnjudged, "db in /srv/p (line 14): wrapped", ""},
		{"wrap --all", StatusUnjudged, "memory (line 4): wrapped already", ""},
		{"wrap --all", StatusUnjudged, "the extension ant.dir.x is a bundle", ""},
		{"wrap --all", StatusUnjudged, "Zed: ", ""},
		{"wrap --client claude-code", 0, "far (line 10): not wrapped: it is reached over the network", ""},
		{"wrap --client claude-code --json", 0, `"why": "it is disabled; wrap it once it is enabled"`, ""},
	} {
		status, stdout, stderr := run(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: status %d\n%s\n%s", c.args, status, stdout, stderr)
		}
	}
	var after struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal([]byte(read(t, path)), &after); err != nil {
		t.Fatal(err)
	}
	want := []string{"run", "--name=memory", "--env=MEMORY_FILE_PATH", "--", "npx", "-y", "@modelcontextprotocol/server-memory", "--api-key=hunter2hunter2"}
	if got := after.MCPServers["memory"]; got.Command != "/usr/local/bin/sentinel-guard" || !cmp.Equal(got.Args, want) {
		t.Errorf("%+v", got)
	}
	if status, stdout, _ := run(t, "unwrap", "--all"); status != StatusUnjudged || read(t, path) != claudeCode || read(t, filepath.Join(home, ".cursor/mcp.json")) != broken {
		t.Errorf("status %d\n%s\n%s", status, stdout, read(t, path))
	}
}
