// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"os"
	"strings"
	"testing"
)

// nobody has no environment.
func nobody(string) string { return "" }

func TestEveryClientKeepsItsConfigurationInItsPlace(t *testing.T) {
	const home = "/home/alice"
	for _, test := range []struct {
		id, goos, want string
		env            map[string]string
	}{
		{"claude-desktop", "darwin", home + "/Library/Application Support/Claude/claude_desktop_config.json", nil},
		{"claude-desktop", "linux", home + "/.config/Claude/claude_desktop_config.json", nil},
		{"claude-desktop", "linux", "/conf/Claude/claude_desktop_config.json", map[string]string{"XDG_CONFIG_HOME": "/conf"}},
		{"claude-desktop", "darwin", home + "/Library/Application Support/Claude/claude_desktop_config.json", map[string]string{"XDG_CONFIG_HOME": "/conf"}},
		{"claude-desktop", "linux", home + "/.config/Claude/claude_desktop_config.json", map[string]string{"XDG_CONFIG_HOME": "conf"}},
		{"claude-code", "darwin", home + "/.claude.json", nil},
		{"claude-code", "linux", home + "/.claude.json", nil},
		{"claude-code", "linux", "/conf/.claude.json", map[string]string{"CLAUDE_CONFIG_DIR": "/conf/"}},
		{"cursor", "darwin", home + "/.cursor/mcp.json", nil},
		{"cursor", "linux", home + "/.cursor/mcp.json", nil},
		{"vscode", "darwin", home + "/Library/Application Support/Code/User/mcp.json", nil},
		{"vscode", "linux", home + "/.config/Code/User/mcp.json", nil},
		{"gemini-cli", "darwin", home + "/.gemini/settings.json", nil},
		{"gemini-cli", "linux", home + "/.gemini/settings.json", nil},
		{"copilot-cli", "darwin", home + "/.copilot/mcp-config.json", nil},
		{"copilot-cli", "linux", home + "/.copilot/mcp-config.json", nil},
		{"copilot-cli", "linux", "/conf/mcp-config.json", map[string]string{"COPILOT_HOME": "/conf"}},
	} {
		u := User{OS: test.goos, Home: home, Env: func(name string) string { return test.env[name] }}
		c, ok := ByID(test.id)
		if !ok {
			t.Fatalf("there is no client %s", test.id)
		}
		if got := c.File(u); got != test.want {
			t.Errorf("%s on %s with %v: %s, want %s", test.id, test.goos, test.env, got, test.want)
		}
	}
}

func TestManualNamesEveryClientAndItsFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Installable() {
		var files []string
		for _, goos := range []string{"linux", "darwin"} {
			u := User{OS: goos, Home: "/home/alice", Env: nobody}
			files = append(files, "`~"+strings.TrimPrefix(c.File(u), u.Home)+"`")
		}
		if row := "| `" + c.ID + "` | " + strings.Join(files, " | ") + " | `" + c.Servers + "`"; !strings.Contains(string(page), row) {
			t.Errorf("docs/clients.md has no row %s", row)
		}
	}
}

func TestClientIsFoundByItsDir(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, c := range Installable() {
			u := User{OS: goos, Home: t.TempDir(), Env: nobody}
			if c.Found(u) {
				t.Errorf("%s is found in an empty home", c.ID)
			}
			if err := os.MkdirAll(c.traces[0].of(u), 0o700); err != nil {
				t.Fatal(err)
			}
			if !c.Found(u) {
				t.Errorf("%s is not found by %s", c.ID, c.traces[0].of(u))
			}
		}
	}
}

func TestOurServerIsKnownByItsName(t *testing.T) {
	for command, want := range map[string]bool{
		"sentinel-mcp": true, "/usr/local/bin/sentinel-mcp": true, "sentinel-mcp.exe": true,
		"": false, "sentinel": false, "/opt/sentinel-mcp/other": false, "my-sentinel-mcp": false,
	} {
		if IsOurs(command) != want {
			t.Errorf("%q: %v", command, !want)
		}
	}
}
