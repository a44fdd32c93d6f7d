// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sentinel/internal/ops"
	"sentinel/test/assistant"
)

// spoken are the pieces of code of a page: in its prose and in its blocks.
func (p page) spoken() []string {
	return append(inline.FindAllString(p.prose, -1), p.commands()...)
}

// Every flag that a page gives to one of the programs is one that it has.
func TestEveryFlagIsThere(t *testing.T) {
	into := t.TempDir()
	assistant.Build(t, root, into, "./cmd/sentinel", "./cmd/sentinel-mcp")
	flag := regexp.MustCompile(`--[a-z][a-z-]*`)
	known := map[string]map[string]bool{}
	for program, list := range map[string][]string{"sentinel": {"--completion", "bash"}, "sentinel-mcp": {"--help"}} {
		out, err := exec.Command(filepath.Join(into, program), list...).Output()
		if err != nil {
			t.Fatal(err)
		}
		known[program] = map[string]bool{}
		for _, f := range flag.FindAllString(string(out), -1) {
			known[program][f] = true
		}
	}
	call := regexp.MustCompile("(?:^|[`/ (])(sentinel|sentinel-mcp)((?: +[^`|;&]*)?)")
	checked := 0
	for name, p := range pages(t) {
		for _, code := range p.spoken() {
			for _, m := range call.FindAllStringSubmatch(code, -1) {
				for _, f := range flag.FindAllString(m[2], -1) {
					checked++
					if !known[m[1]][f] {
						t.Errorf("%s says %s, and %s has no %s", name, code, m[1], f)
					}
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d flags were found to check", checked)
	}
}

func TestEveryTargetOfMakeIsThere(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(raw), -1) {
		targets[m[1]] = true
	}
	call := regexp.MustCompile("(?:^|[`/ ])make((?: +[a-z-]+)+)(?:[` ]|$)")
	for name, p := range pages(t) {
		for _, code := range p.spoken() {
			for _, m := range call.FindAllStringSubmatch(code, -1) {
				for target := range strings.FieldsSeq(m[1]) {
					if !targets[target] {
						t.Errorf("%s says %s, and there is no target %s", name, code, target)
					}
				}
			}
		}
	}
}

// The README's table of tools is written by hand, in an order for people.
func TestTheReadmeHasTheTools(t *testing.T) {
	prose := pages(t)["README.md"].prose
	rows := 0
	for _, o := range ops.All() {
		linked := fmt.Sprintf("[`%s`](docs/reference.md#%s)", o.Name, o.Name)
		if !strings.Contains(prose, linked) {
			t.Errorf("the README does not have %s", linked)
		}
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(linked) + ` \| (.*) \| (.*) \| (.*) \|$`).FindStringSubmatch(prose)
		if o.Toolset != ops.DefaultToolset {
			continue
		}
		if row == nil {
			t.Errorf("the table of the README has no row for %s", o.Name)
			continue
		}
		rows++
		said := strings.Join(row[1:], "\n")
		effect := map[ops.Effect]string{ops.Read: "reads", ops.Write: "changes", ops.Destructive: "changes; ends or cuts something", ops.SendsOut: "sends packets to other hosts"}[o.Effect]
		need := map[ops.Privilege]string{ops.AnyUser: "not needed", ops.BetterRoot: "better with", ops.NeedsRoot: "needed"}[o.Privilege]
		if !strings.Contains(row[1], "--"+o.Flag) || row[2] != effect || row[3] != need {
			t.Errorf("the README says of %s:\n%s\nwant --%s, %s, %s", o.Name, said, o.Flag, effect, need)
		}
	}
	if heading := fmt.Sprintf("## The %d tools\n", rows); !strings.Contains(prose, heading) {
		t.Errorf("the table has %d tools, and the heading says another number", rows)
	}
}
