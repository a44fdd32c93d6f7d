// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTablesAreReadAsCronDoes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		form Form
		want []Entry
		bad  int // from the first line on
	}{
		"personal":                    {"# a\nMAILTO=x\n\"SHELL\" = /bin/sh\n\n*/5 1-3 * jan,feb MON-fri  /bin/a b%in\\%put\n", Personal, []Entry{{5, "*/5 1-3 * jan,feb MON-fri", "", "/bin/a b"}}, 0},
		"a percent sign":              {"0 0 * * * date +\\%F\n", Personal, []Entry{{1, "0 0 * * *", "", "date +%F"}}, 0},
		"system":                      {"17 *\t* * *\troot    cd / && run-parts /etc/cron.hourly\n@reboot mail /bin/x\n", System, []Entry{{1, "17 * * * *", "root", "cd / && run-parts /etc/cron.hourly"}, {2, "@reboot", "mail", "/bin/x"}}, 0},
		"no logging":                  {"-*/1 * * * * root /bin/x\n", System, []Entry{{1, "*/1 * * * *", "root", "/bin/x"}}, 0},
		"anacron":                     {"START_HOURS_RANGE=3-22\n1\t5\tcron.daily\trun-parts /etc/cron.daily\n@monthly 45 m x y\n", Anacron, []Entry{{2, "1 days", "", "run-parts /etc/cron.daily"}, {3, "@monthly", "", "x y"}}, 0},
		"no command":                  {"* * * * *\n* * * * * root\n", System, nil, 2},
		"not enough fields":           {"* * * x\n@now! x\n", Personal, nil, 2},
		"binary":                      {"\x00\x01\x7fELF\n* * * * * \x1b[2J\n", Personal, nil, 2},
		"a user with blanks in front": {"  1 2 3 4 5 root x\n", System, []Entry{{1, "1 2 3 4 5", "root", "x"}}, 0},
		"a line without end":          {"* * * * * " + strings.Repeat("x", 5000), Personal, nil, 1},
	} {
		got := Parse([]byte(c.text), c.form)
		if diff := cmp.Diff(Table{Entries: c.want, Bad: c.bad, First: min(c.bad, 1)}, got); diff != "" { // a usual shell is no variable of interest
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What stands above the jobs can have each of them run something else.
func TestVariablesThatStartSomething(t *testing.T) {
	got := Parse([]byte("SHELL=/bin/bash\nPATH=/tmp\n'LD_PRELOAD' = \"/opt/a.so:/opt/b.so\"\n* * * * * x\nBASH_ENV=\n SHELL = /tmp/sh\nBASH_ENV=/opt/e\n"), Personal)
	want := Table{Entries: []Entry{{4, "* * * * *", "", "x"}}, Variables: []Variable{{3, "LD_PRELOAD", "/opt/a.so:/opt/b.so"}, {6, "SHELL", "/tmp/sh"}, {7, "BASH_ENV", "/opt/e"}}}
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
			if len(got.Entries)+got.Bad+got.More > lines || got.First > lines || (got.First == 0) != (got.Bad == 0) {
				t.Errorf("%d, %d and %d of %d lines", len(got.Entries), got.Bad, got.More, lines)
			}
			for _, e := range got.Entries {
				if e.Command == "" || e.When == "" || e.Line > lines || strings.ContainsAny(e.Command, "\n\x00") {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}
