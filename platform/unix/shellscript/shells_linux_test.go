// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// grammar makes scripts that end: what "@…@" names is one of a list, and the first of it where a script is deep enough.
// "@program@" has a number of its own, and what begins with "no" is never run.
var grammar = map[string][]string{
	"script": {"@list@\n", "@list@\n@list@\n", "@list@\n@document@@list@\n", "@document@@document@"},
	"list": {
		"@command@", "@command@", "@command@; @command@", "@command@ && @command@", "@command@ || @command@", "@command@ & @command@", "@command@ |\n@command@", "@command@|@command@",
		"@command@\n@command@", "@command@; # no '\n@command@", "@command@ # \"\n\n@command@",
	},
	"command": {
		"@simple@", "@simple@", "@simple@", "if @list@\nthen @list@\nfi", "if @list@; then @list@; elif @list@; then @list@\nelse @list@; fi", "while @list@\ndo @list@; break; done", "until ! @list@; do @list@\nbreak; done",
		"for x in @word@ b; do @list@\nbreak; done", "for x\ndo @list@; done", "{ @list@\n}@redirection@", "( @list@)@redirection@", "! @command@", "if { @list@; } then @list@\nfi", "if ( @list@)then @list@; fi",
		"case @word@ in (a) @list@ ;; *) @list@\nesac", "case in in(in) @list@;;esac", "case x in\nno|x) @list@;;\n*) ;; esac", "if case x in x) @list@;; esac then @list@; fi", "f@depth@() { @list@; }\nf@depth@ @word@", "f@depth@()( @list@ )\nf@depth@",
	},
	"simple": {
		"@program@@words@@redirection@", "@program@@words@@redirection@", ">/dev/null @program@@words@", "A=1 B='no 3' @program@@words@", "env A=b @program@", "command @program@@words@", "nohup @program@ a", "x=@word@", ": @word@@redirection@",
		"eval '@plain@ no; @plain@'", "sh -c '@plain@ no && @plain@'", "trap '@plain@' EXIT", "export E@word@", "set -- @word@", "[ a = @word@ ]", "timeout 60 @program@",
	},
	"program":     {"@plain@", "@plain@", "'@plain@'", "\"@plain@\"", "\\@plain@", "''@plain@", "@plain@\"\""},
	"words":       {"", " @word@", " @word@ @word@", "\t@word@ \\\n @word@"},
	"redirection": {"", "", " >/dev/null", " 2>&1", " </dev/null", " 2>'/dev/null'", " 3<&-"},
	"word": {
		"a", "'; no'", "\"; no \"", "$x", "${x:-no}", "\\;", "\"it's no\"", "'no \" '", "x#y", "a=b", "-n", "$#", "${#x}", "${x#a}", "${x%%'}'*}", "\"${x:-\"q\"}\"", "\\\"", "\\'", "\"\\\"\"", "${x:+'}'}", "\"${x:+'}\"", "$$", "[a", "a]", "{", "}", "!", "if", "fi", "done", "in", "esac",
		"\"${x#\\\"}\"", "${x-\\}}", "\"${x:-\"a\\\"}\"}\"", "${x:-\"}\"}", "\"${x#'}'}\"", "$((1+2))", "$(@list@)", "\"$(@list@)\"", "$(@list@\n)", "${x:-$(@list@)}", "\"${x:-$(@list@)}\"", "${x:-\"$(@list@)\"}", "$((1+$(@list@;echo 1)))", "`@plain@ no`", "\"`@plain@`\"", "a\"b$(@list@)c\"d",
	},
	"document": {
		"cat <<E@redirection@\nno\nE\n", "cat <<E; @program@\n'no\nE\n", "cat <<'E'\n$(no\nE\n", "cat <<\"E\" | @program@\n'$(no)\nE\n", "cat <<\\E && @program@\n`\nE\n", "cat <<-E\n\t'no\n\tE\n", "sh <<E\n@plain@ no\nE\n", "cat <<E\n$(@list@)\nE\n", "cat <<E\n'$(@plain@)\n`@plain@`\nE\n",
		"cat <<E\nno\\\nE\n'\nE\n", "cat <<E # '\n E\n\"\nE \nE\n", "cat <<E-'F'\n'\nE-F\n", "cat <<$x\n'no\n$x\n", "cat <<E <<F\n'\nE\n\"\nF\n", "cat <<E\n${x:-$(@plain@)}\n\"$(@plain@)\"\nE\n", "cat <<E\n\\$(no)\n\\\nE\n",
	},
}

// grammarOfBash is what bash has besides.
var grammarOfBash = map[string][]string{
	"list": {"@command@ |& @command@"},
	"command": {
		"for((i=0;i<1;i++))do @list@; done", "for ((i=0; i<1; i++)); do @list@\ndone", "[[ -n a ]] && { @list@\n}", "if [[ a == b || ( -n a ) ]] then @list@; fi", "if((1))then @list@\nfi", "for i in 1; { @list@; }", "time(@list@)", "time -p @command@", "function f@depth@ { @list@; }; f@depth@", "function f@depth@()(@list@)\nf@depth@",
		"select x in a;do @list@\nbreak;done <<<1", "coproc { @list@; }; wait", "coproc(@list@)\nwait", "case x in x) @list@;;& *) @list@;& no) @list@\nesac", "case x in @(x|y)) @list@;; esac",
	},
	"simple": {
		"a=(@word@ @word@)", "a[1<<2]=@word@", "a[$(@plain@)1]=@word@", "declare d=@word@", "((x = 1 << 2))", "[[ a =~ (a|b) && $x == \"(\" ]]", "let 'x=1<<2'", "x+=@word@", "printf -v y %s @word@", "exec 9<<<@word@", "mapfile y < <(@list@)", "((x=1,y=2))",
	},
	"program":     {"$'@plain@'", "$\"@plain@\"", "$'\\x70'@tail@", "$'\\160'@tail@"},
	"redirection": {" &>/dev/null", " <<<@word@", " {fd}>/dev/null", " <<< \"no\""},
	"word":        {"$'no\\'s'", "$'a\\\\'", "${x//\\//y}", "$[1+2]", "\"$'\"", "${x[1]}", "<(@list@)", ">(@list@)", "${x/$(@list@)/b}", "$[0$(@list@)]", "${x:-$'}'}", "${@#'}'}", "\"${x/'}'/}\"", "${x^^'}'}", "{a,b}", "${!x}"},
	"document":    {"cat <<$'E'\n'no\nE\n", "cat <<$\"E\"\n'\nE\n", "cat <<E$'\\x46'\n\"no\nEF\n"},
}

var (
	symbol   = regexp.MustCompile(`@[a-z]+@`)
	recorded = "SENTINEL_RAN" // the file in which programs say that they ran
)

// A maker makes one script.
type maker struct {
	*rand.Rand
	grammar  map[string][]string
	programs int
}

func (m *maker) expand(name string, depth int) string {
	switch name {
	case "plain":
		m.programs++
		return "pp" + strconv.Itoa(m.programs)
	case "depth": // of a function, which then calls none of its own name
		return strconv.Itoa(depth)
	case "tail":
		return m.expand("plain", 0)[1:]
	}
	list := m.grammar[name]
	one := list[m.IntN(len(list))]
	if depth == 0 {
		one = list[0]
	}
	return symbol.ReplaceAllStringFunc(one, func(s string) string { return m.expand(strings.Trim(s, "@"), max(0, depth-1)) })
}

// TestMain is a program of a script, if it is called as one.
func TestMain(m *testing.M) {
	name, file := filepath.Base(os.Args[0]), os.Getenv(recorded)
	if file == "" || !strings.HasPrefix(name, "pp") {
		os.Exit(m.Run())
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(name + "\n")
	}
	if err != nil {
		os.Exit(1)
	}
}

const (
	scripts     = 150 // for each shell
	mostStarted = 40  // programs in one
)

// Each program that a shell starts is told of its script, and nothing that only looks like one.
func TestProgramsAreThoseThatShellsStart(t *testing.T) {
	bin := t.TempDir()
	for i := range mostStarted {
		if err := os.Symlink(os.Args[0], filepath.Join(bin, "pp"+strconv.Itoa(1+i))); err != nil {
			t.Fatal(err)
		}
	}
	both := maps.Clone(grammar)
	for name, list := range grammarOfBash {
		both[name] = slices.Concat(grammar[name], list)
	}
	for shell, grammar := range map[string]map[string][]string{"bash": both, "dash": grammar} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program, started := testenv.Program(t, shell, shell), 0
			for seed := range uint64(scripts) {
				m := &maker{Rand: rand.New(rand.NewPCG(seed, 0)), grammar: grammar}
				script := m.expand("script", 5)
				if m.programs > mostStarted {
					continue
				}
				ran, ok := startedBy(t, program, script, bin)
				if !ok {
					continue
				}
				started += len(ran)
				r := NewReader(len(script))
				told := map[string]bool{}
				for _, c := range r.commands(script, "") {
					c.from = &simple{}
					for _, name := range (frame{c.dir, c, 0, r}).command(c.words) {
						told[path.Base(name)] = true
					}
				}
				for _, name := range ran {
					if !told[name] && !r.cut {
						t.Errorf("script %d starts %s, which is not told:\n%s", seed, name, script)
					}
				}
				if told["no"] {
					t.Errorf("script %d has data that is told:\n%s", seed, script)
				}
			}
			if started < scripts {
				t.Errorf("the scripts started %d programs", started)
			}
		})
	}
}

// startedBy has a shell run a script, and returns the programs that it started; false where the shell refuses it.
func startedBy(t *testing.T, shell, script, bin string) (names []string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.HangLimit)
	defer cancel()
	c := exec.CommandContext(ctx, shell, "-c", script)
	c.Dir, c.Env = dir, []string{"PATH=" + bin + ":/usr/bin:/bin", recorded + "=" + filepath.Join(dir, "ran")}
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%v, %v:\n%s", ctx.Err(), err, script)
	}
	raw, _ := os.ReadFile(filepath.Join(dir, "ran")) // missing where nothing ran
	return strings.Fields(string(raw)), !bytes.Contains(out, []byte("yntax error"))
}
