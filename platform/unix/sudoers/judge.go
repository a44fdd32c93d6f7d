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
			free, asked := d.exempt(option)
			if !asked {
				continue
			}
			line := audit.At(d.File, d.Line, "Defaults"+d.Scope+" "+option)
			if free.Scope == "" || slices.ContainsFunc(p.Grants, free.mayOpen) {
				all = append(all, line)
			} else {
				some = append(some, line)
			}
		}
	}
	for _, g := range p.Grants {
		if !g.NoPassword || g.onlyRoot() || ours(g.Command) {
			continue
		}
		line := audit.At(g.File, g.Line, fmt.Sprintf("%s NOPASSWD: %s", g.Users, g.Command))
		if g.everything() {
			all = append(all, line)
		} else {
			some = append(some, line)
		}
	}
	return all, some
}

// exempt returns for whom an option of d asks for no password; false for one that
// leaves that as it is.
func (d Default) exempt(option string) (Default, bool) {
	if option == "!authenticate" {
		return d, true
	}
	name, group, _ := strings.Cut(option, "=")
	return Default{Scope: ":%" + strings.Trim(strings.TrimSpace(group), `"`)}, strings.TrimSpace(name) == "exempt_group"
}

// mayOpen says whether g is everything as root for somebody but root for whom d may
// be as well. Who is in a group or an alias is not looked up: it may be anybody, and an alias of commands that nothing
// defines may be all.
func (d Default) mayOpen(g Grant) bool {
	if g.onlyRoot() || !g.everything() {
		return false
	}
	switch names := d.Scope[1:]; d.Scope[0] {
	case '>':
		return Grant{RunAs: names}.AsRoot()
	case '!':
		return slices.ContainsFunc(d.Commands, func(command string) bool { return command == "ALL" || isAlias(command) })
	case ':':
		return slices.ContainsFunc(strings.Split(names, ","), func(name string) bool {
			return slices.ContainsFunc(g.users(), func(user string) bool { return mayBe(name, user) })
		})
	default:
		return true // for hosts, of which this may be one
	}
}

// mayBe says whether a name of Defaults and one of a rule may be the same user's. sudo never asks root.
func mayBe(name, user string) bool {
	return name == user || name != "root" && (!isUser(name) || !isUser(user))
}

// isUser says whether a name is that of one user.
func isUser(name string) bool {
	return name != "" && name != "ALL" && !isAlias(name) && !strings.ContainsAny(name[:1], `%+#!"`)
}

// users returns to whom the rule gives.
func (g Grant) users() []string {
	list := strings.ReplaceAll(strings.ReplaceAll(g.Users, " ,", ","), ", ", ",")
	list, _, _ = strings.Cut(list, " ")
	return strings.Split(list, ",")
}

func (g Grant) onlyRoot() bool { return slices.Equal(g.users(), []string{"root"}) }

// everything says whether the rule gives all commands as root.
func (g Grant) everything() bool { return g.Command == "ALL" && g.AsRoot() }
