// SPDX-License-Identifier: Apache-2.0

package sudoers

import "strings"

// alias reads "NAME = a, b : NAME = c".
func (r *reader) alias(text string) {
	for _, one := range split(text, ':', false) {
		name, list, ok := strings.Cut(one, "=")
		if name = strings.TrimSpace(name); !ok || !isAlias(name) {
			r.skip(ErrSyntax)
			return
		}
		r.aliases[name] = split(list, ',', false)
	}
}

// isAlias says whether a name has the form of an alias. ALL has it too, but is
// none.
func isAlias(name string) bool {
	return name != "" && name != "ALL" && name[0] >= 'A' && name[0] <= 'Z' &&
		!strings.ContainsFunc(name, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' })
}

// resolve replaces the names of aliases by their commands, in rules and in the scopes of Defaults.
func (r *reader) resolve() {
	var list []Grant
	for _, g := range r.policy.Grants {
		for _, command := range r.expand(g.Command, maxAlias) {
			g.Command = command
			list = append(list, g)
		}
	}
	if len(list) > maxRules {
		r.skip(ErrTooMany)
		list = list[:maxRules]
	}
	r.policy.Grants = list
	for i, d := range r.policy.Defaults {
		if names, ok := strings.CutPrefix(d.Scope, "!"); ok {
			for _, name := range split(names, ',', false) {
				commands := r.expand(strings.TrimSpace(name), maxAlias)
				r.policy.Defaults[i].Commands = append(r.policy.Defaults[i].Commands, commands...)
			}
		}
	}
}

func (r *reader) expand(command string, depth int) []string {
	members, known := r.aliases[command]
	if !known {
		return []string{strings.Join(strings.Fields(command), " ")}
	}
	var list []string
	for _, m := range members {
		if r.steps++; depth == 0 || r.steps > maxSteps {
			r.skip(ErrTooMany)
			return list
		}
		if m, negated := negations(m); m != "" && !negated {
			list = append(list, r.expand(m, depth-1)...)
		}
	}
	return list
}
