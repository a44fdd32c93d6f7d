// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/installed"
	"sentinel/platform/unix/hostfile"
)

// Own returns whether a command is one of the shipped rules, which sentinel-mcp
// needs: it names a sentinel that nobody but owner can change. One that is not there counts
// only where sentinel is usually installed.
func Own(tree hostfile.Tree, owner int) func(command string) bool {
	return func(command string) bool {
		program, ok := installed.RuleProgram(command)
		if !ok {
			return false
		}
		exists, alone := tree.ChangedBy(program, owner)
		return alone && (exists || slices.Contains(installed.Dirs(), path.Dir(program)))
	}
}

// NoPassword judges what the policy allows without a password. Commands of ours do
// not count.
func (p Policy) NoPassword(ours func(command string) bool) audit.Finding {
	all, some := p.open(ours)
	const fix = "Take NOPASSWD and !authenticate out of the lines that are named: sudo visudo -f FILE"
	switch {
	case len(all) > 0:
		return audit.Failed("All commands as root without a password", fix, append(all, some...)...)
	case len(some) > 0:
		return audit.Warned(humanize.Count(len(some), "command", "commands")+" without a password", fix, some...)
	case p.Hole != nil:
		return audit.Unread("sudoers", p.Hole)
	default:
		return audit.Passed("Always")
	}
}

// open returns the lines that allow something without a password: everything as
// root, or less.
func (p Policy) open(ours func(string) bool) (all, some []string) {
	for _, d := range p.Defaults {
		for _, option := range d.Options {
			line := audit.At(d.File, d.Line, "Defaults"+d.Scope+" "+option)
			switch {
			case option == "!authenticate" && d.Scope == "":
				all = append(all, line)
			case option == "!authenticate", strings.HasPrefix(option, "exempt_group"):
				some = append(some, line)
			}
		}
	}
	for _, g := range p.Grants {
		user, others, _ := strings.Cut(g.Users, " ")
		onlyRoot := user == "root" && !strings.HasPrefix(others, ",")
		if !g.NoPassword || onlyRoot || ours(g.Command) {
			continue
		}
		line := audit.At(g.File, g.Line, fmt.Sprintf("%s NOPASSWD: %s", g.Users, g.Command))
		if g.Command == "ALL" && g.AsRoot() {
			all = append(all, line)
		} else {
			some = append(some, line)
		}
	}
	return all, some
}
