// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/logs"
)

const (
	early  = "Mar  4 11:00:00 web1 app: early\n"
	late   = "Mar  4 11:30:00 web1 app: late\n"
	begun  = "/var/log/syslog: it begins at 2026-03-04T11:00:00Z: what was before was rotated away, or never written"
	strays = " lines are dated before the time asked for, but stand behind later ones, and are left out: a clock was wrong, or a sender chose the date"
	aheads = " lines are dated after their file was last written to, and are left out: a clock was wrong, or a sender chose the date"
)

// syslogd of inetutils, syslog-ng and a rsyslogd that receives keep the date of whoever sends.
func TestNoSenderEndsALogByADate(t *testing.T) {
	both := []string{"11:30:00 -1 |app 0|late", "11:00:00 -1 |app 0|early"}
	for what, c := range map[string]struct {
		files map[string]string
		gaps  []string
	}{
		"of this machine":  {map[string]string{"var/log/syslog": early + "Jan  1 00:00:00 web1 eve: x\n" + late}, []string{begun, "/var/log/syslog: 1" + strays}},
		"of a request":     {map[string]string{"var/log/syslog": early + "Mar  3 23:59:59 web1 app: x\n" + late}, []string{begun}},
		"of another":       {map[string]string{"var/log/syslog": early + "Jan  1 00:00:00 printer lpd: ready\n" + late}, []string{begun}},
		"very many":        {map[string]string{"var/log/syslog": early + strings.Repeat("Jan  1 00:00:00 web1 eve: x\n", 9000) + late}, []string{begun, "/var/log/syslog: 9000" + strays}},
		"the last":         {map[string]string{"var/log/syslog": early + late + "2001-01-01T00:00:00Z web1 eve: x\n"}, []string{begun, "/var/log/syslog: 1" + strays}},
		"of next year":     {map[string]string{"var/log/syslog": early + "2027-01-01T00:00:00Z web1 eve: x\n" + late}, []string{begun, "/var/log/syslog: 1" + aheads}},
		"of another's one": {map[string]string{"var/log/syslog": early + "2027-01-01T00:00:00Z printer lpd: x\n" + late}, []string{begun}},
		"of tomorrow":      {map[string]string{"var/log/syslog": early + "Mar  5 11:00:00 web1 eve: x\n" + late}, []string{begun, "/var/log/syslog: 1" + aheads}},
		"in the file before": {
			map[string]string{"var/log/syslog": "Jan  1 00:00:00 web1 eve: x\n" + late, "var/log/syslog.1@11": early},
			[]string{begun, "/var/log/syslog: 1" + strays},
		},
		"packed": {
			map[string]string{"var/log/syslog": late, "var/log/syslog.1.gz@11": packed(t, early+"Jan  1 00:00:00 web1 eve: x\n")},
			[]string{begun, "/var/log/syslog: 1" + strays},
		},
		"in order": {
			map[string]string{"var/log/syslog": "Mar  3 11:00:00 web1 app: x\n" + early + late}, nil,
		},
	} {
		t.Run(what, func(t *testing.T) {
			lines, gaps, coverage := read(t, withoutJournal(t, c.files), all)
			same(t, "lines", both, lines)
			same(t, "gaps", c.gaps, gaps)
			if len(coverage.Logs) != 1 || coverage.Logs[0].Stopped || coverage.Incomplete {
				t.Errorf("%+v", coverage)
			}
		})
	}
}

// The logs of services are read the same way.
func TestNoDateEndsTheLogOfAService(t *testing.T) {
	s := withoutJournal(t, map[string]string{"var/log/syslog": "", "var/log/nginx/error.log": "2026/03/04 11:00:00 [error] 7#7: early\n2001/01/01 00:00:00 [error] 7#7: x\n2026/03/04 11:30:00 [error] 7#7: late\n"})
	lines, gaps, _ := read(t, s, unit("nginx.service"))
	same(t, "lines", []string{"11:30:00 3 nginx.service| 7|late", "11:00:00 3 nginx.service| 7|early"}, lines)
	if !slices.Contains(gaps, "/var/log/nginx/error.log: 1"+strays) {
		t.Errorf("%q", gaps)
	}
}

func TestWhereReadingPastOldLinesEndsIsSaid(t *testing.T) {
	old := strings.Repeat("Jan  1 00:00:00 web1 eve: x\n", 40_000) // 1,080,000 bytes of lines
	for what, c := range map[string]struct {
		log   string
		lines []string
	}{
		"more than is read":        {early + old + late, []string{"11:30:00 -1 |app 0|late"}},
		"less in a row":            {early + old[:len(old)*3/4] + late + old[:len(old)*3/4], []string{"11:30:00 -1 |app 0|late", "11:00:00 -1 |app 0|early"}},
		"without a time":           {early + strings.Repeat("xxxxxxx\n", 150_000) + late, []string{"11:30:00 -1 |app 0|late"}},
		"with what is of others":   {early + strings.ReplaceAll(old, "web1", "db01") + late, []string{"11:30:00 -1 |app 0|late"}},
		"among later ones of them": {early + old[:len(old)*3/4] + "Mar  4 11:10:00 db1 app: x\n" + old[:len(old)*3/4] + late, []string{"11:30:00 -1 |app 0|late", "11:00:00 -1 |app 0|early"}},
	} {
		s := withoutJournal(t, map[string]string{"var/log/syslog": c.log})
		s.fruitless = 1 << 20
		lines, gaps, coverage := read(t, s, all)
		same(t, what, c.lines, lines)
		stopped := len(c.lines) == 1
		said := slices.Contains(gaps, "/var/log/syslog: 1 MB of lines in a row are dated before the time asked for, or have no date: what stands before them is not read")
		if stopped != said || coverage.Incomplete != stopped || coverage.Logs[0].Stopped != stopped {
			t.Errorf("%s: %q, %+v", what, gaps, coverage)
		}
	}
}

// From when on everything was read, no single line decides.
func TestHowFarBackALogWasReadIsNoSendersToSay(t *testing.T) {
	s := withoutJournal(t, map[string]string{"var/log/syslog": early + "Mar  4 00:00:01 web1 eve: x\n" + strings.Repeat(late, 20)})
	n := 0
	c, err := s.Read(t.Context(), all, func(logs.Entry) bool { n++; return n < 21 })
	if want := noon.Add(-30 * time.Minute); err != nil || n != 21 || !c.Logs[0].Stopped || !c.Logs[0].ReadBackTo.Equal(want) {
		t.Errorf("%d lines, %+v, %v", n, c.Logs, err)
	}
}

func TestHowFarBackIsTheLatestOfTheLastLines(t *testing.T) {
	var b back
	if !b.from().IsZero() {
		t.Errorf("of nothing: %v", b.from())
	}
	for i := range 3 * backLines {
		b.add(noon.Add(-time.Duration(i) * time.Second))
	}
	if want := noon.Add(-backLines * time.Second); !b.from().Equal(want) {
		t.Errorf("%v, want %v", b.from(), want)
	}
}
