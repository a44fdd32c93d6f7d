// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"strings"
	"testing"
)

// Texts of the table come into scripts, where a quote or a bracket would end them.
func TestTextsCannotLeaveTheirQuotes(t *testing.T) {
	p := Program{
		Name:    "x-y",
		Flags:   []Flag{{Name: "flag", Short: "f", About: `it's [a]: "b" \c`, Value: Value{Takes: true, Among: []string{"one", "two"}}}},
		Actions: []Action{{Name: "act", About: "it's \"b\" `c` $d: e\\", Value: Value{Takes: true, Kind: "services"}}},
		Choices: []Choice{{Typed: []string{"act", "--act"}}, {Typed: []string{"--other"}, Flags: []string{"flag"}}},
		Usual:   []string{"flag"},
	}
	for shell, wanted := range map[string][]string{
		"bash": {"complete -F _x_y x-y\n", "    --flag) _x_y_offer one two; return ;;\n", "    act) _x_y_values services; return ;;\n",
			"      1:act|*:--act) return ;;\n      *:--other) _x_y_offer --flag; return ;;\n", "  done\n  _x_y_offer --flag\n"},
		"zsh":  {"offered=(--flag -f)\n", "(1:act|*:--act) offered=(); break ;;", `'--flag[it'\''s \[a\]\: "b" \c]:value:(one two)'`, `'-f[it'\''s `, `act\:"it'\''s \"b\" \` + "`c\\`" + ` \$d\: e\\"`},
		"fish": {`complete -c x-y -n '__x_y_usual; or __x_y_with --other' -s f -l flag -d 'it\'s [a]: "b" \\c' -x -a 'one two'`, `-a act -d 'it\'s "b" ` + "`c`" + ` $d: e\\'`},
	} {
		script, known := Script(p, shell)
		if !known {
			t.Errorf("%s is not known", shell)
		}
		for _, want := range wanted {
			if !strings.Contains(script, want) {
				t.Errorf("%s lacks %s:\n%s", shell, want, script)
			}
		}
	}
	if _, known := Script(p, "tcsh"); known {
		t.Error("tcsh is known")
	}
}
