// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"fmt"
	"regexp"
	"strings"

	"sentinel/internal/audit"
)

// NoPassword judges what the policy allows without a password. Commands that match
// ours are those of sentinel itself and do not count.
func (p Policy) NoPassword(ours *regexp.Regexp) audit.Finding {
	all, some := p.open(ours)
	const fix = "Take NOPASSWD and !authenticate out of the lines that are named: sudo visudo -f FILE"
	switch {
	case len(all) > 0:
		return audit.Failed("All commands as root without a password", fix, append(all, some...)...)
	case len(some) > 0:
		return audit.Warned(audit.Count(len(some), "command", "commands")+" without a password", fix, some...)
	case p.Hole != nil:
		return audit.Unread("sudoers", p.Hole)
	default:
		return audit.Passed("Always")
	}
}

// open returns the lines that allow something without a password: everything as
// root, or less.
func (p Policy) open(ours *regexp.Regexp) (all, some []string) {
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
		if !g.NoPassword || onlyRoot || ours.MatchString(g.Command) {
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
