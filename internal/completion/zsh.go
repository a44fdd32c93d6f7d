// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
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
	b.WriteString("_arguments")
	if len(p.Actions) > 0 {
		var all []string
		for _, a := range p.Actions {
			all = append(all, a.Name+`\:`+zshQuoted(a.About))
		}
		fmt.Fprintf(&b, " \\\n  %s \\\n  %s", single("1::action:(("+strings.Join(all, " ")+"))"), single("2::value:"+name+"_of_action"))
	}
	for _, f := range p.Flags {
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
		about := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.About)
		fmt.Fprintf(&b, " \\\n  %s", single("--"+f.Name+"["+about+"]"+value))
		if f.Short != "" {
			fmt.Fprintf(&b, " \\\n  %s", single("-"+f.Short+"["+about+"]"+value))
		}
	}
	return b.String() + "\n"
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
