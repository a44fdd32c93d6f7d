// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/completion"
	"sentinel/internal/testenv"
)

// hostileValues are printed by the sentinel of the test, in the place of those
// that the real one has checked.
const hostileValues = `#!/bin/sh
case $2 in
services) printf '%s\n' 'nginx' 'getty@tty1' '$(touch canary)' '` + "`touch canary`" + `' 'x;touch canary' '--force' "o'clock" 'a b' '*' '~root' '' 'n\x2dx' '!!' ;;
processes) printf '4242\t$(touch canary)\n' ;;
blocked) printf '%s\n' 2001:db8::7 203.0.113.7 ;;
esac
`

// A typist sits at a real bash, on a terminal, that has the completions of
// sentinel.
type typist struct {
	t      *testing.T
	keys   *os.File
	screen *bufio.Reader
	dir    string
}

// marked is what bash prints of the arguments that a line ended up with.
const marked = "\x01 printf '<%s>' \x05 ; echo '<>'\n" // Control-A and Control-E go to the ends of the line

func atBash(t *testing.T, p completion.Program) typist {
	t.Helper()
	bash := testenv.Program(t, "bash", "bash")
	dir := t.TempDir()
	script, _ := completion.Script(p, "bash")
	for name, content := range map[string]string{
		"sentinel": hostileValues, "complete.bash": script,
		"inputrc":               "set bell-style none\nset enable-bracketed-paste off\n\"\\t\": complete\n",
		"rc":                    "PS1=\nPS2=\nset +o history\nsource complete.bash\necho ready\n",
		"file with blanks.yaml": "", "$(touch canary).yaml": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	master, terminal := testenv.Terminal(t)
	cmd := exec.Command(bash, "--noprofile", "--rcfile", "rc", "-i")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, terminal, terminal, terminal
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir, "INPUTRC=" + dir + "/inputrc", "TERM=dumb", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s := typist{t, master, bufio.NewReader(master), dir}
	s.until("ready")
	return s
}

// until reads to a line that ends with text, and returns that line.
func (s typist) until(text string) string {
	s.t.Helper()
	for {
		line, err := s.screen.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); strings.HasSuffix(line, text) {
			return line
		}
		if err != nil {
			s.t.Fatalf("%q did not come: %v", text, err)
		}
	}
}

// types types a line with a tab, and returns the arguments that it has then.
func (s typist) types(line string) string {
	s.t.Helper()
	fmt.Fprint(s.keys, line+"\t"+marked)
	for {
		if got := s.until("<>"); strings.Contains(got, "<sentinel") && !strings.Contains(got, "printf") {
			return got[strings.LastIndex(got, "<sentinel"):]
		}
	}
}

func TestARealBashCompletes(t *testing.T) {
	s := atBash(t, completed())
	for line, want := range map[string]string{
		"sentinel --asset":         "<sentinel><--asset-info><>",
		"sentinel aud":             "<sentinel><audit><>",
		"sentinel --top --sort=m":  "<sentinel><--top><--sort=memory><>",
		"sentinel --top --sort m":  "<sentinel><--top><--sort><memory><>",
		"sentinel --request trace": "<sentinel><--request><traceroute><>",
		"sentinel help unbl":       "<sentinel><help><unblock><>",

		// Flags that go with what was chosen, and no others.
		"sentinel --top --so":            "<sentinel><--top><--sort><>",
		"sentinel top --so":              "<sentinel><top><--sort><>",
		"sentinel --top --rea":           "<sentinel><--top><--rea><>",
		"sentinel --top --tt":            "<sentinel><--top><--tt><>",
		"sentinel --block-ip 2 --tt":     "<sentinel><--block-ip><2><--ttl><>",
		"sentinel block 2 --tt":          "<sentinel><block><2><--ttl><>",
		"sentinel unblock 2 --tt":        "<sentinel><unblock><2><--tt><>",
		"sentinel --tt":                  "<sentinel><--tt><>",
		"sentinel --top --sort m --host": "<sentinel><--top><--sort><m><--host><>",
		"sentinel --top --dry":           "<sentinel><--top><--dry><>",
		"sentinel --doctor --hos":        "<sentinel><--doctor><--hos><>",
		"sentinel --version --v":         "<sentinel><--version><--v><>",
		"sentinel --request x --con":     "<sentinel><--request><x><--config><>",
		"sentinel --che":                 "<sentinel><--check><>",
		"sentinel audit --che":           "<sentinel><audit><--check><>",
		"sentinel logs --che":            "<sentinel><logs><--che><>",

		// Values of the machine, also those with colons.
		"sentinel --restart-service ng":    "<sentinel><--restart-service><nginx><>",
		"sentinel restart get":             "<sentinel><restart><getty@tty1><>",
		"sentinel --unblock-ip 2001:d":     "<sentinel><--unblock-ip><2001:db8::7><>",
		"sentinel --unblock-ip 2001:db8::": "<sentinel><--unblock-ip><2001:db8::7><>",
		"sentinel unblock=203":             "<sentinel><unblock=203><>",
		"sentinel --unblock-ip=203":        "<sentinel><--unblock-ip=203.0.113.7><>",
		"sentinel kill 4":                  "<sentinel><kill><4242><>",

		// What is no plain word is never offered, and never run.
		"sentinel --restart-service \\$":   "<sentinel><--restart-service><$><>",
		"sentinel --restart-service x":     "<sentinel><--restart-service><x><>",
		"sentinel --restart-service --f":   "<sentinel><--restart-service><--f><>",
		"sentinel --restart-service o":     "<sentinel><--restart-service><o><>",
		"sentinel --restart-service a":     "<sentinel><--restart-service><a><>",
		"sentinel --restart-service n\\\\": "<sentinel><--restart-service><n\\><>",
		"sentinel --config file":           "<sentinel><--config><file with blanks.yaml><>",
		"sentinel --config \\$":            "<sentinel><--config><$(touch canary).yaml><>",
		"sentinel '$(touch canary)' ":      "<sentinel><$(touch canary)><--><>",
	} {
		if got := s.types(line); got != want {
			t.Errorf("%q\n got %s\nwant %s", line, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "canary")); err == nil {
		t.Error("something that was completed was run")
	}
}

// fish knows what follows a flag only where the flag is offered.
func TestARealFishOffersWhatGoesWithTheAction(t *testing.T) {
	fish := testenv.Program(t, "fish", "fish")
	dir := t.TempDir()
	script, _ := completion.Script(completed(), "fish")
	for name, content := range map[string]string{"sentinel": hostileValues, "sentinel.fish": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"sentinel --top --s":        "--sort ",
		"sentinel top --s":          "--sort ",
		"sentinel --top --t":        "--top-count ",
		"sentinel --t":              "--top --traceroute ",
		"sentinel block 2 --t":      "--ttl ",
		"sentinel --top --sort ":    "cpu memory ",
		"sentinel --unblock-ip 2":   "2001:db8::7 203.0.113.7 ",
		"sentinel --kill 4242 --ex": "--expect-name --expect-start ",
		"sentinel --version --":     "",
		"sentinel help bl":          "block blocked ",
	} {
		cmd := exec.CommandContext(t.Context(), fish, "--no-config", "-c", `source sentinel.fish; complete -C $argv[1] | string replace -r '\t.*' ''; true`, line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C"}
		out, err := cmd.Output()
		if got := strings.ReplaceAll(string(out), "\n", " "); got != want || err != nil && want != "" {
			t.Errorf("%q: %q, want %q (%v)", line, got, want, err)
		}
	}
}

// The bash of macOS has no compopt.
func TestABashThatCannotQuoteGetsNamesQuoted(t *testing.T) {
	s := atBash(t, completed())
	if err := os.WriteFile(filepath.Join(s.dir, "open$(touch canary).yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(s.keys, "enable -n compopt\n")
	for line, want := range map[string]string{
		"sentinel --config file": "<sentinel><--config><file with blanks.yaml><>",
		"sentinel --config open": "<sentinel><--config><open$(touch canary).yaml><>",
	} {
		if got := s.types(line); got != want {
			t.Errorf("%q\n got %s\nwant %s", line, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "canary")); err == nil {
		t.Error("something that was completed was run")
	}
}

func TestOnlyPlainWordsAreOffered(t *testing.T) {
	var list []candidate
	for _, value := range []string{"nginx", "getty@tty1", "2001:db8::7", "42", "", "-x", "--force", "$(id)", "`id`", "a b", "a;b", "a\tb", "a\nb", "a'b", `a"b`, `a\b`, "a*", "~a", "ä", "a\x1b[2J", "a\x00", strings.Repeat("a", 101)} {
		list = append(list, candidate{value: value})
	}
	list = append(list, candidate{"7", "$(id) `x`; 'y'\n\t\x1b[2Jz"}, candidate{"8", "nginx: worker"})
	got := candidateLines(list)
	const want = "nginx\ngetty@tty1\n2001:db8::7\n42\n7\t__id_ _x__ _y_  __2Jz\n8\tnginx: worker\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	many := make([]candidate, 10*maxCandidates)
	for i := range many {
		many[i].value = fmt.Sprint(i)
	}
	if n := strings.Count(candidateLines(many), "\n"); n != maxCandidates {
		t.Errorf("%d are offered, want %d", n, maxCandidates)
	}
}
