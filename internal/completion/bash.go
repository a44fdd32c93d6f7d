// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
	"strings"
)

// bash also splits words at colons, which addresses have, so the script looks at
// the line itself and takes off again what is there already. It needs no package of completions,
// and works with bash 3.2 of macOS.
func bash(p Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for %[1]s\n%[2]s_offer() {\n%[3]s}\n%[2]s_values() {\n%[4]s}\n%[2]s_files() {\n%[5]s}\n%[2]s() {\n%[6]s", p.Name, bashName(p), offer, fmt.Sprintf(values, bashName(p)), files, look)
	b.WriteString("  case $before in\n")
	for _, f := range p.Flags {
		bashCase(&b, p, "--"+f.Name, f.Value)
	}
	b.WriteString("  esac\n")
	if len(p.Actions) > 0 {
		bashActions(&b, p)
	}
	bashFlags(&b, p)
	fmt.Fprintf(&b, "}\ncomplete -F %s %s\n", bashName(p), p.Name)
	return b.String()
}

// bashFlags offers the flags that go with what was chosen.
func bashFlags(b *strings.Builder, p Program) {
	offered := func(names []string) string { return bashName(p) + "_offer --" + strings.Join(names, " --") }
	b.WriteString("  local i\n  for ((i = 1; i < COMP_CWORD; i++)); do\n    case $i:${COMP_WORDS[i]} in\n")
	for _, c := range p.Choices {
		offers := ""
		if len(c.Flags) > 0 {
			offers = offered(c.Flags) + "; "
		}
		fmt.Fprintf(b, "      %s) %sreturn ;;\n", places(c), offers)
	}
	fmt.Fprintf(b, "    esac\n  done\n  %s\n", offered(p.Usual))
}

// places is the pattern of an argument, behind its number, that makes a choice.
func places(c Choice) string {
	var patterns []string
	for _, typed := range c.Typed {
		number := "1"
		if isFlag(typed) {
			number = "*"
		}
		patterns = append(patterns, number+":"+typed)
	}
	return strings.Join(patterns, "|")
}

// bashActions completes the first word, and the one behind it.
func bashActions(b *strings.Builder, p Program) {
	b.WriteString("  [[ $before != \"${COMP_WORDS[1]}\" ]] || case $before in\n")
	for _, a := range p.Actions {
		bashCase(b, p, a.Name, a.Value)
	}
	fmt.Fprintf(b, "  esac\n  [[ $COMP_CWORD -gt 1 || $word == -* ]] || %s_offer", bashName(p))
	for _, a := range p.Actions {
		b.WriteString(" " + a.Name)
	}
	b.WriteString("\n")
}

// look finds the word that is typed, and the one before it. --flag=value is two.
const look = `  local line=${COMP_LINE:0:COMP_POINT} word before rest
  word=${line##*[[:space:]]}
  rest=${line%"$word"}
  rest=${rest%"${rest##*[![:space:]]}"}
  before=${rest##*[[:space:]]}
  if [[ $word == --*=* ]]; then
    before=${word%%=*} word=${word#*=}
  fi
  COMPREPLY=()
`

// offer adds the words that begin as what is typed. bash puts them behind its last
// colon.
const offer = `  local typed='' one
  [[ $COMP_WORDBREAKS != *:* ]] || typed=${word%"${word##*:}"}
  for one in "$@"; do
    [[ $one != "$word"* ]] || COMPREPLY+=("${one#"$typed"}")
  done
`

// values takes plain words alone, whatever is printed.
const values = `  local one
  while IFS=$'\t' read -r one _; do
    [[ $one == [!A-Za-z0-9]* || $one == *[!A-Za-z0-9@:._-]* ]] || %s_offer "$one"
  done < <(command sentinel --complete "$1" 2>/dev/null)
`

// files leaves quoting to bash where it can be asked to. That of macOS has no compopt, and would put
// a name into the line as it is.
const files = `  local one quote=
  compopt -o filenames 2>/dev/null || quote=yes
  while IFS= read -r one; do
    [[ -z $quote ]] || printf -v one %q "$one"
    COMPREPLY+=("$one")
  done < <(compgen -f -- "$word")
`

func bashName(p Program) string { return "_" + strings.ReplaceAll(p.Name, "-", "_") }

func bashCase(b *strings.Builder, p Program, typed string, v Value) {
	name := bashName(p)
	switch {
	case !v.Takes:
	case len(v.Among) > 0:
		fmt.Fprintf(b, "    %s) %s_offer %s; return ;;\n", typed, name, strings.Join(v.Among, " "))
	case v.IsFile:
		fmt.Fprintf(b, "    %s) %s_files; return ;;\n", typed, name)
	case v.Kind != "":
		fmt.Fprintf(b, "    %s) %s_values %s; return ;;\n", typed, name, v.Kind)
	default:
		fmt.Fprintf(b, "    %s) return ;;\n", typed)
	}
}
