// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// code are the spans and the lines of blocks of a page.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")

// typed is a command line of the guard in a piece of code.
var typed = regexp.MustCompile("(?:^|[`$ /\n])sentinel-guard((?: +[^ `|;&#\n<>]+)*)")

// Every command of the guard that a page names is there, with its flags.
func TestTheCommandsOfThePagesAreThere(t *testing.T) {
	files, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range append(files, root+"/README.md") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range code.FindAllString(string(raw), -1) {
			for _, m := range typed.FindAllStringSubmatch(piece, -1) {
				checked++
				if why := unknown(strings.Fields(m[1])); why != "" {
					t.Errorf("%s says sentinel-guard%s: %s", filepath.Base(file), m[1], why)
				}
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d command lines were found", checked)
	}
	for _, wrong := range []string{"nothing", "policy nothing", "run --nothing", "policy init --rules x"} {
		if unknown(strings.Fields(wrong)) == "" {
			t.Errorf("%q is not noticed", wrong)
		}
	}
}

// unknown says what of a command line is not there. What stands behind "--" is the server's.
func unknown(words []string) string {
	if end := slices.Index(words, "--"); end >= 0 {
		words = words[:end]
	}
	page, depth := Pages()[0], 0
	for _, p := range Pages() {
		if path := strings.Fields(p.Path)[1:]; len(path) > depth && len(path) <= len(words) && slices.Equal(path, words[:len(path)]) {
			page, depth = p, len(path)
		}
	}
	if depth == 0 && len(words) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(words[0]) {
		group := words[0] == "policy" && (len(words) == 1 || strings.HasPrefix(words[1], "-")) // it prints its help
		if !group && words[0] != "completion" {
			return "there is no such command"
		}
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(strings.TrimRight(w, ",.)"), "=")
		is := func(f Flag) bool { return "--"+f.Name == flag }
		if strings.HasPrefix(flag, "--") && flag != "--help" && !slices.ContainsFunc(page.Flags, is) {
			return "there is no " + flag
		}
	}
	return ""
}

// What the README shows of a terminal is what a terminal shows.
func TestTheTerminalOfTheReadme(t *testing.T) {
	raw, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(rules:\n.*?)```\n.*?```console\n(.*?)```").FindStringSubmatch(string(raw))
	if m == nil {
		t.Fatal("the README has no rule with a terminal behind it")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("guard.yaml", []byte(m[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(m[2], "$ "), "\n$ ") {
		line, want, _ := strings.Cut(strings.ReplaceAll(step, "\\\n", " "), "\n")
		_, got, stderr := run(t, quoted(line)[1:]...)
		if strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") || stderr != "" {
			t.Errorf("$ %s\n%s%s\nthe README says\n%s", line, got, stderr, want)
		}
		for l := range strings.Lines(step) {
			if len([]rune(strings.TrimRight(l, "\n"))) > width {
				t.Errorf("a line is wider than a terminal: %s", l)
			}
		}
	}
}

// quoted splits a line at blanks outside of single quotes.
func quoted(line string) (words []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
