// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
	"slices"
	"strings"
)

func fish(p Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s\ncomplete -c %s -f\n", p.Name, p.Name)
	fishChoices(&b, p)
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
		fmt.Fprintf(&b, "complete -c %s%s%s -l %s -d %s%s\n", p.Name, fishCondition(p, f), short, f.Name, fishQuoted(f.About), extra)
	}
	return b.String()
}

// fishChoices tells what was chosen, for the conditions of flags.
func fishChoices(b *strings.Builder, p Program) {
	var all []string
	for _, c := range p.Choices {
		all = append(all, c.Typed...)
	}
	fmt.Fprintf(b, fishChosen, bashName(p), strings.Join(all, " "))
}

// fishChosen says whether one of some arguments was typed, and whether none of all was.
const fishChosen = `function _%[1]s_with
    set -l typed (commandline -opc)
    for one in $argv
        if string match -q -- '-*' $one
            contains -- $one $typed; and return 0
        else if test "$typed[2]" = $one
            return 0
        end
    end
    return 1
end
function _%[1]s_usual
    not _%[1]s_with %[2]s
end
`

// fishCondition is when a flag is offered. One with a value is known to fish only where it is offered,
// and so goes with its own choice.
func fishCondition(p Program, f Flag) string {
	var with []string
	for _, c := range p.Choices {
		own := f.Takes && slices.Contains(c.Typed, "--"+f.Name)
		if own || slices.Contains(c.Flags, f.Name) {
			with = append(with, c.Typed...)
		}
	}
	var conditions []string
	if slices.Contains(p.Usual, f.Name) {
		conditions = append(conditions, "_"+bashName(p)+"_usual")
	}
	if len(with) > 0 {
		conditions = append(conditions, "_"+bashName(p)+"_with "+strings.Join(with, " "))
	}
	return " -n '" + strings.Join(conditions, "; or ") + "'"
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
