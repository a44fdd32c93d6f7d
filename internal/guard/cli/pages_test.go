// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// On a terminal of 80 columns and 24 lines, the help of each command can be read at once.
func TestHelpFitsATerminal(t *testing.T) {
	groups := []Page{{Path: "sentinel-guard policy"}}
	for _, p := range append(groups, Pages()...) {
		status, help, stderr := run(t, append(strings.Fields(p.Path)[1:], "--help")...)
		if status != 0 || stderr != "" {
			t.Errorf("%s: status %d, %s", p.Path, status, stderr)
		}
		if strings.Contains(help, "more information about a command") {
			t.Errorf("%s has the last line of another width", p.Path)
		}
		lines := strings.Split(strings.TrimRight(help, "\n"), "\n")
		if len(lines) > 23 && len(p.Path) > len("sentinel-guard") { // the prompt is a line, too
			t.Errorf("the help of %s has %d lines:\n%s", p.Path, len(lines), help)
		}
		for _, line := range lines {
			if len([]rune(line)) > width {
				t.Errorf("%s: a line of %d columns: %s", p.Path, len([]rune(line)), line)
			}
		}
	}
}

func TestPagesAreThoseOfTheCommands(t *testing.T) {
	pages := map[string]Page{}
	for _, p := range Pages() {
		pages[p.Path] = p
	}
	for _, path := range []string{"sentinel-guard", "sentinel-guard run", "sentinel-guard policy check"} {
		if pages[path].Text == "" {
			t.Errorf("there is no page for %s", path)
		}
	}
	if _, there := pages["sentinel-guard completion"]; there {
		t.Error("what is hidden has a page")
	}
	if want := (Flag{"json", "", "", "print JSON"}); !slices.Contains(pages["sentinel-guard policy show"].Flags, want) {
		t.Errorf("%+v lacks a flag of the command above", pages["sentinel-guard policy show"].Flags)
	}
	if want := (Flag{"max-message", "", "INT", "longest message that passes, in MiB (default 64)"}); !slices.Contains(pages["sentinel-guard run"].Flags, want) {
		t.Errorf("%+v", pages["sentinel-guard run"].Flags)
	}
}

func TestShellsGetCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if status, script, _ := run(t, "completion", shell); status != 0 || !strings.Contains(script, "sentinel-guard") {
			t.Errorf("%s: status %d\n%s", shell, status, script)
		}
	}
}

// offered returns what a shell offers for the last of the words.
func offered(t *testing.T, words ...string) string {
	t.Helper()
	_, out, _ := run(t, append([]string{"__complete"}, words...)...)
	values, directive, _ := strings.Cut("\n"+out, "\n:")
	if directive != "4\n" { // no files
		t.Errorf("%q: directive %q", words, directive)
	}
	return strings.Join(strings.Fields(values), " ")
}

func TestShellsOfferWhatThereIs(t *testing.T) {
	config := strings.Replace(claudeCode, `"far"`, `"hostile\n:0\u001b[2J": {"command": "y"}, "": {"command": "z"}, "far"`, 1)
	inTeam(t, map[string]string{"p/.mcp.json": teamFile, ".cursor/mcp.json": `{"mcpServers": {"memory": {"command": "x"}, "kept": {"command": "sentinel-guard", "args": ["--", "y"]}}}`, ".gemini/settings.json": "{"})
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".claude.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	clientIDs := "claude-desktop claude-code cursor vscode gemini-cli copilot-cli"
	for words, want := range map[string]string{
		"policy init --preset ":                         "filesystem git read-only sentinel sql",
		"wrap --client ":                                clientIDs,
		"unwrap --client ":                              clientIDs,
		"doctor --client ":                              clientIDs,
		"wrap --server ":                                "db kept memory",
		"wrap --client cursor --server ":                "kept memory",
		"wrap --client gemini-cli --server ":            "",
		"wrap --client claude-code --project --server ": "shared-db",
		"unwrap --server ":                              "kept",
		"doctor --server ":                              "db far kept memory off shared-db",
		"calls --server ":                               "kept",
		"events --severity ":                            "low medium high critical",
	} {
		if got := offered(t, strings.Split(words, " ")...); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
