// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
	"slices"
	"strings"
)

func zsh(p Program) string {
	var b strings.Builder
	name := bashName(p)
	fmt.Fprintf(&b, "#compdef %s\n%s_values() {\n%s}\n", p.Name, name, zshValues)
	if len(p.Actions) > 0 {
		fmt.Fprintf(&b, "%s_of_action() {\n  case ${words[2]} in\n", name)
		for _, a := range p.Actions {
			if a.Takes {
				fmt.Fprintf(&b, "  %s) %s ;;\n", a.Name, zshAction(name, a.Value))
			}
		}
		b.WriteString("  esac\n}\n")
	}
	fmt.Fprintf(&b, "%s() {\n  local -A spec\n  spec=(\n", name)
	for _, f := range p.Flags {
		for _, typed := range zshSpellings(f) {
			fmt.Fprintf(&b, "    %s %s\n", typed, single(typed+zshSpec(name, f)))
		}
	}
	b.WriteString("  )\n")
	zshChoices(&b, p)
	b.WriteString("  _arguments")
	if len(p.Actions) > 0 {
		var all []string
		for _, a := range p.Actions {
			all = append(all, a.Name+`\:`+zshQuoted(a.About))
		}
		fmt.Fprintf(&b, " \\\n    %s \\\n    %s", single("1::action:(("+strings.Join(all, " ")+"))"), single("2::value:"+name+"_of_action"))
	}
	return b.String() + " \\\n    $specs\n}\n" + name + " \"$@\"\n"
}

// zshChoices takes the flags that go with what was chosen, and those that chose it, which zsh has to
// know to see what else is typed.
func zshChoices(b *strings.Builder, p Program) {
	spelled := func(names []string) string {
		var all []string
		for _, f := range p.Flags {
			if slices.Contains(names, f.Name) {
				all = append(all, zshSpellings(f)...)
			}
		}
		return strings.Join(all, " ")
	}
	fmt.Fprintf(b, "  local -a offered specs\n  local -i i\n  local one\n  offered=(%s)\n  for (( i = 2; i < CURRENT; i++ )); do\n    case $(( i - 1 )):${words[i]} in\n", spelled(p.Usual))
	for _, c := range p.Choices {
		names := slices.Clone(c.Flags)
		for _, typed := range c.Typed {
			if isFlag(typed) {
				names = append(names, strings.TrimLeft(typed, "-"))
			}
		}
		fmt.Fprintf(b, "      (%s) offered=(%s); break ;;\n", places(c), spelled(names))
	}
	b.WriteString("    esac\n  done\n  for one in $offered; do\n    specs+=(\"${spec[$one]}\")\n  done\n")
}

// zshSpellings are the ways to type a flag.
func zshSpellings(f Flag) []string {
	all := []string{"--" + f.Name}
	if f.Short != "" {
		all = append(all, "-"+f.Short)
	}
	return all
}

// zshSpec says what a flag is about and what follows it.
func zshSpec(name string, f Flag) string {
	value := ""
	switch {
	case !f.Takes:
	case len(f.Among) > 0:
		value = ":value:(" + strings.Join(f.Among, " ") + ")"
	case f.IsFile:
		value = ":file:_files"
	case f.Kind != "":
		value = ":value: " + name + "_values " + f.Kind // without the blank zsh puts words in between
	default:
		value = ":value:"
	}
	return "[" + strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.About) + "]" + value
}

// zshValues shows what a value is beside it, and inserts the value alone.
const zshValues = `  local -a values shown
  local line
  for line in "${(@f)$(command sentinel --complete "$1" 2>/dev/null)}"; do
    [[ ${line%%$'\t'*} == [A-Za-z0-9]* && ${line%%$'\t'*} != *[^A-Za-z0-9@:._-]* ]] || continue
    values+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  (( ! $#values )) || compadd -l -d shown -a values
`

// zshAction completes the value of an action.
func zshAction(name string, v Value) string {
	switch {
	case len(v.Among) > 0:
		return "compadd " + strings.Join(v.Among, " ")
	case v.IsFile:
		return "_files"
	case v.Kind != "":
		return name + "_values " + v.Kind
	default:
		return "_message value"
	}
}

// zshQuoted escapes a description in a list of words.
func zshQuoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`", ":", `\:`).Replace(s) + `"`
}

// single quotes a word for zsh.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
