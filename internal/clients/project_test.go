// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestConfigurationsOfAProjectAreFoundFromWithin(t *testing.T) {
	outside := t.TempDir()
	home := filepath.Join(outside, "home")
	u := User{OS: "linux", Home: home, Env: nobody}
	for _, path := range []string{
		"../.mcp.json",                     // above the home
		".cursor/mcp.json", ".claude.json", // the user's own
		".mcp.json",                           // Claude Code reads it wherever below one works
		"p/.vscode/mcp.json",                  // of the project
		"p/.cursor/mcp.json",                  // of the project
		"p/sub/.gemini/settings.json",         // of a part of it
		"p/sub/.github/mcp.json",              // of a part of it
		"p/sub/deep/.mcp.json", "q/.mcp.json", // of others
	} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := func(dir string) (all []string) {
		for _, c := range InProject(u, dir) {
			rest, err := filepath.Rel(c.Folder, c.File(u))
			if err != nil || c.Install.Projects != "" {
				t.Errorf("%s: %v", c.File(u), err)
			}
			in, err := filepath.Rel(home, c.Folder)
			if err != nil {
				t.Error(err)
			}
			all = append(all, c.ID+" "+in+" "+rest)
		}
		return all
	}
	want := []string{"gemini-cli p/sub .gemini/settings.json", "copilot-cli p/sub .github/mcp.json", "cursor p .cursor/mcp.json", "vscode p .vscode/mcp.json", "claude-code . .mcp.json"}
	if got := found(filepath.Join(home, "p", "sub")); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := found(home); !slices.Equal(got, []string{"claude-code . .mcp.json"}) {
		t.Errorf("at home: %q", got)
	}
	if c, _ := ByID("claude-code"); c.Folder != "" || c.Install.Projects == "" || c.File(u) != filepath.Join(home, ".claude.json") {
		t.Error("the table has changed")
	}
	link := filepath.Join(outside, "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	u.Home = link
	if got := found(home); !slices.Equal(got, []string{"claude-code . .mcp.json"}) {
		t.Errorf("at a home behind a link: %q", got)
	}
}
