// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var minutes = func() string {
	var list []string
	for i := range 60 {
		list = append(list, strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}()

func TestTablesAreReadAsCronDoes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		form Form
		want []Entry
		bad  int // from the first line on
	}{
		"personal":                    {"# a\nMAILTO=x\n\"SHELL\" = /bin/sh\n\n*/5 1-3 * jan,feb MON-fri  /bin/a b%in\\%put\n", Personal, []Entry{{Line: 5, When: "*/5 1-3 * jan,feb MON-fri", Command: "/bin/a b", Input: "in%put\n"}}, 0},
		"a percent sign":              {"0 0 * * * date +\\%F\n", Personal, []Entry{{Line: 1, When: "0 0 * * *", Command: "date +%F"}}, 0},
		"system":                      {"17 *\t* * *\troot    cd / && run-parts /etc/cron.hourly\n@reboot mail /bin/x\n", System, []Entry{{Line: 1, When: "17 * * * *", User: "root", Command: "cd / && run-parts /etc/cron.hourly"}, {Line: 2, When: "@reboot", User: "mail", Command: "/bin/x"}}, 0},
		"no logging":                  {"-*/1 * * * * root /bin/x\n", System, []Entry{{Line: 1, When: "*/1 * * * *", User: "root", Command: "/bin/x"}}, 0},
		"anacron":                     {"START_HOURS_RANGE=3-22\n1\t5\tcron.daily\trun-parts /etc/cron.daily\n@monthly 45 m x y\n", Anacron, []Entry{{Line: 2, When: "1 days", Command: "run-parts /etc/cron.daily"}, {Line: 3, When: "@monthly", Command: "x y"}}, 0},
		"no command":                  {"* * * * *\n* * * * * root\n", System, nil, 2},
		"no user":                     {"* * * * * /usr/bin/sleep 5\n* * * * * A=b x\n", System, nil, 2},
		"not enough fields":           {"* * * x\n@now! x\n", Personal, nil, 2},
		"binary":                      {"\x00\x01\x7fELF\n* * * * \x1b[2J x\n", Personal, nil, 2},
		"any bytes":                   {"@reboot id -u > /x #\xe9\n@reboot a #\x01\n* * * * * b\x00secret\n", Personal, []Entry{{Line: 1, When: "@reboot", Command: "id -u > /x #\xe9"}, {Line: 2, When: "@reboot", Command: "a #\x01"}, {Line: 3, When: "* * * * *", Command: "b"}}, 0},
		"many minutes":                {minutes + " * * * * x\n", Personal, []Entry{{Line: 1, When: minutes + " * * * *", Command: "x"}}, 0},
		"a user of a domain":          {"@daily CORP\\mira x\n", System, []Entry{{Line: 1, When: "@daily", User: "CORP\\mira", Command: "x"}}, 0},
		"input":                       {"0 1 * * * /bin/sh%/tmp/.evil --beacon%exit \\%1\n@daily a \\\\%b\n@daily %c\n@daily d%\n", Personal, []Entry{{Line: 1, When: "0 1 * * *", Command: "/bin/sh", Input: "/tmp/.evil --beacon\nexit %1\n"}, {Line: 2, When: "@daily", Command: "a \\\\", Input: "b\n"}, {Line: 3, When: "@daily", Input: "c\n"}, {Line: 4, When: "@daily", Command: "d", Input: "\n"}}, 0},
		"a long line":                 {"* * * * * " + strings.Repeat("x", 5000), Personal, []Entry{{Line: 1, When: "* * * * *", Command: strings.Repeat("x", 5000)}}, 0},
		"a user with blanks in front": {"  1 2 3 4 5 root x\n", System, []Entry{{Line: 1, When: "1 2 3 4 5", User: "root", Command: "x"}}, 0},
		"a quote without end":         {"*=\"a * * * * touch /x\n*=''b * * * * touch /y\n", Personal, []Entry{{Line: 1, When: "* * * * *", Command: "touch /x"}, {Line: 2, When: "* * * * *", Command: "touch /y"}}, 0},
		"a quote that is no value":    {"A='b\nPATH=\"/tmp\" x\n", Personal, nil, 2},
		"values of anacron":           {"A='b\n*=\"a * * * x\n", Anacron, nil, 0},
		"a line without end":          {"* * * * * " + strings.Repeat("x", maxLine), Personal, nil, 1},
	} {
		got := Parse([]byte(c.text), c.form)
		if (got.Left != "") != (c.bad > 0) {
			t.Errorf("%s: the digest of what is left is %q", name, got.Left)
		}
		got.Left = ""
		if diff := cmp.Diff(Table{Entries: c.want, Bad: c.bad, First: min(c.bad, 1)}, got); diff != "" { // a usual shell is no variable of interest
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What stands above the jobs can have each of them run something else.
func TestVariablesThatStartSomething(t *testing.T) {
	got := Parse([]byte("SHELL=/bin/bash\nPATH=/tmp\n'LD_PRELOAD' = \"/opt/a.so:/opt/b.so\"\n* * * * * x\nBASH_ENV=\n SHELL = /tmp/sh\nBASH_ENV=/opt/e\n"), Personal)
	want := Table{Entries: []Entry{{Line: 4, When: "* * * * *", Command: "x", Path: "/tmp"}}, Variables: []Variable{{2, "PATH", "/tmp"}, {3, "LD_PRELOAD", "/opt/a.so:/opt/b.so"}, {6, "SHELL", "/tmp/sh"}, {7, "BASH_ENV", "/opt/e"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Parse([]byte(strings.Repeat("ENV=/x\n", MaxEntries+2)), System); len(got.Variables) != MaxEntries || got.More != 2 || got.Unread() == nil {
		t.Errorf("%d variables, %d more", len(got.Variables), got.More)
	}
	if got := Parse([]byte("ENV=/"+strings.Repeat("x", maxLine)), System); got.Variables != nil || got.More != 1 {
		t.Errorf("%d variables, %d more", len(got.Variables), got.More)
	}
}

// A PATH is that of the jobs below it, and of interest where it has more than the directories of the system.
func TestJobsAreFoundByThePathAboveThem(t *testing.T) {
	got := Parse([]byte("@daily a\nPATH=/mnt/.x:/usr/bin\n@daily b\nPATH=/usr/bin:/bin\n@daily c\nLD_LIBRARY_PATH=/opt/l\nPERL5OPT=-Mx\nBASH_FUNC_ls%%=() { /opt/f; }\nMAILTO=x\n"), Personal)
	var paths []string
	for _, e := range got.Entries {
		paths = append(paths, e.Command+" "+e.Path)
	}
	if diff := cmp.Diff([]string{"a ", "b /mnt/.x:/usr/bin", "c "}, paths); diff != "" {
		t.Error(diff)
	}
	want := []Variable{{2, "PATH", "/mnt/.x:/usr/bin"}, {6, "LD_LIBRARY_PATH", "/opt/l"}, {7, "PERL5OPT", "-Mx"}, {8, "BASH_FUNC_ls%%", "() { /opt/f; }"}}
	if diff := cmp.Diff(want, got.Variables); diff != "" {
		t.Error(diff)
	}
}

// What was not read has a digest: it is not the same when it is another.
func TestLinesThatAreLeftHaveADigest(t *testing.T) {
	seen := map[string]string{}
	many := strings.Repeat("@daily x\n", MaxEntries)
	for _, text := range []string{"no\n", "no job\n", "no\x00a\n", "no\nno\n", many + "@daily y\n", many + "@daily z\n"} {
		left := Parse([]byte(text), Personal).Left
		if of, same := seen[left]; same || left == "" {
			t.Errorf("%.20q is %q as %.20q", text, left, of)
		}
		seen[left] = text
	}
}

func TestALongTableIsCutAndSaidToBe(t *testing.T) {
	jobs := strings.Repeat("* * * * * x\n", MaxEntries)
	for text, want := range map[string]string{
		jobs:                            "",
		jobs + jobs + "* * * * * x\n":   "jobs beyond the first 1000: 1001",
		"no\n" + jobs + "* * * * * x\n": "lines that are no job: 1, the first is line 1; jobs beyond the first 1000: 1",
		jobs + "no\n":                   "lines that are no job: 1, the first is line 1001",
		jobs + strings.Repeat("no\n", 5*MaxEntries): "lines that are no job: 5000, the first is line 1001",
	} {
		got := Parse([]byte(text), Personal)
		said := ""
		if err := got.Unread(); err != nil {
			said = err.Error()
		}
		if len(got.Entries) != MaxEntries || said != want {
			t.Errorf("%d entries, %q, want %q", len(got.Entries), said, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*/5 * * * * root /bin/x%y\n@daily x\n7 5 n c\nA=b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range []Form{Personal, System, Anacron} {
			got := Parse([]byte(text), form)
			lines := strings.Count(text, "\n") + 1
			if len(got.Entries)+got.Bad+got.More > lines || got.First > lines || (got.First == 0) != (got.Bad == 0) || (got.Left == "") != (got.Bad+got.More == 0) {
				t.Errorf("%d, %d and %d of %d lines", len(got.Entries), got.Bad, got.More, lines)
			}
			for _, e := range got.Entries {
				if e.Command+e.Input == "" || e.When == "" || e.Line > lines || strings.ContainsAny(e.Command, "\n\x00") {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}
