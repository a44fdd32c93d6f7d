// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
	"strings"
)

func fish(p Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s\ncomplete -c %s -f\n", p.Name, p.Name)
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", p.Name, a.Name, fishQuoted(a.About))
		if values := fishValues(a.Value); values != "" {
			fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from %s'%s\n", p.Name, a.Name, values)
		}
	}
	for _, f := range p.Flags {
		short := ""
		if f.Short != "" {
			short = " -s " + f.Short
		}
		extra := fishValues(f.Value)
		switch {
		case f.Takes && f.IsFile:
			extra = " -r -F"
		case f.Takes:
			extra = " -x" + extra
		}
		fmt.Fprintf(&b, "complete -c %s%s -l %s -d %s%s\n", p.Name, short, f.Name, fishQuoted(f.About), extra)
	}
	return b.String()
}

// fishValues returns the values to offer. fish takes each line that a program
// prints as one word, with its description behind a tab, and evaluates none.
func fishValues(v Value) string {
	switch {
	case len(v.Among) > 0:
		return " -a " + fishQuoted(strings.Join(v.Among, " "))
	case v.Kind != "":
		return " -a '(command sentinel --complete " + v.Kind + " 2>/dev/null)'"
	default:
		return ""
	}
}

// fishQuoted quotes a word for fish, where a backslash escapes within single quotes.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
