// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
	if _, offered, _ := run(t, "__complete", "policy", "init", "--preset", "f"); !strings.HasPrefix(offered, "filesystem\n") {
		t.Errorf("for a preset that begins with f: %q", offered)
	}
}
