// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"sentinel/internal/ops"
)

// completions are the shells that --completion knows.
func completions() map[string]func() string {
	return map[string]func() string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
}

// A word is one flag to complete, with what may follow it.
type word struct {
	flag, about string
	takes, file bool     // takes a value; the value is a file
	values      []string // the only values, where there are few
}

func words() []word {
	var list []word
	seen := map[string]bool{}
	for _, o := range ops.Actions() {
		if o.Flag != "" {
			list = append(list, word{flag: o.Flag, about: o.Usage, takes: o.Object() != nil})
			seen[o.Flag] = true
		}
		for _, f := range o.Fields {
			if !seen[f.Flag] {
				list = append(list, word{flag: f.Flag, about: f.Description, takes: f.Kind != ops.Boolean, values: f.Enum})
			}
			seen[f.Flag] = true
		}
	}
	for _, o := range ops.Options() {
		list = append(list, word{flag: o.Name, about: o.Usage, takes: o.Value != "", file: o.Value == "FILE", values: o.Values})
	}
	return list
}

func bashCompletion() string {
	var all []string
	var cases strings.Builder
	for _, w := range words() {
		all = append(all, "--"+w.flag)
		switch {
		case len(w.values) > 0:
			fmt.Fprintf(&cases, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", w.flag, strings.Join(w.values, " "))
		case w.file:
			fmt.Fprintf(&cases, "    --%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", w.flag)
		case w.takes:
			fmt.Fprintf(&cases, "    --%s) COMPREPLY=(); return ;;\n", w.flag)
		}
	}
	return "# bash completion for sentinel\n_sentinel() {\n" +
		"  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n" +
		"  case $before in\n" + cases.String() + "  esac\n" +
		"  COMPREPLY=($(compgen -W '" + strings.Join(all, " ") + "' -- \"$word\"))\n}\n" +
		"complete -F _sentinel sentinel\n"
}

func zshCompletion() string {
	var b strings.Builder
	b.WriteString("#compdef sentinel\n_arguments \\\n")
	for _, w := range words() {
		value := ""
		switch {
		case len(w.values) > 0:
			value = ":value:(" + strings.Join(w.values, " ") + ")"
		case w.file:
			value = ":file:_files"
		case w.takes:
			value = ":value:"
		}
		fmt.Fprintf(&b, "  '--%s[%s]%s' \\\n", w.flag, w.about, value)
	}
	return strings.TrimSuffix(b.String(), " \\\n") + "\n"
}

func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# fish completion for sentinel\n")
	for _, w := range words() {
		extra := ""
		switch {
		case len(w.values) > 0:
			extra = " -x -a '" + strings.Join(w.values, " ") + "'"
		case w.file:
			extra = " -r"
		case w.takes:
			extra = " -x"
		}
		fmt.Fprintf(&b, "complete -c sentinel -l %s -d '%s'%s\n", w.flag, w.about, extra)
	}
	return b.String()
}
