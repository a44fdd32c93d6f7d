// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

const (
	january = "Jan  1 00:00:00 host eve: x\n"
	early   = "Nov 23 10:00:00 host sshd[7]: one\n"
	recent  = "Nov 23 11:00:00 host sshd[7]: two\n"
)

// writtenNow plants files of syslog that were last written to just now.
func writtenNow(t *testing.T, files map[string]string) *Reader {
	t.Helper()
	root := testenv.Plant(t, files)
	for name := range files {
		if err := os.Chtimes(filepath.Join(root, name), now, now); err != nil {
			t.Fatal(err)
		}
	}
	return New(root, nil, func() time.Time { return now })
}

// A user, or a machine that may send, chooses the date of a line where the program of syslog keeps it.
func TestNoDateHidesLinesOfLogins(t *testing.T) {
	padding := func(line string) string { return strings.Repeat(line, maxLogFile/len(line)+1) }
	long := strings.TrimSuffix(january, "\n") + strings.Repeat("y", 900) + "\n"
	lately := "Nov 23 11:30:00 host eve: " + strings.Repeat("y", 900) + "\n"
	many := strings.Repeat("Nov 23 11:30:00 host eve: x\n", maxLines+1-firstLines/2)
	for what, c := range map[string]struct {
		files map[string]string
		lines []string // of sshd
		from  time.Time
		note  string
	}{
		"first in a new file":  {map[string]string{"var/log/auth.log": january + recent, "var/log/auth.log.1": early}, []string{"sshd: one", "sshd: two"}, now.Add(-2 * time.Hour), ""},
		"of the future":        {map[string]string{"var/log/auth.log": "2027-01-01T00:00:00Z host eve: x\n" + recent, "var/log/auth.log.1": early}, []string{"sshd: one", "sshd: two"}, now.Add(-2 * time.Hour), ""},
		"very many lines":      {map[string]string{"var/log/auth.log": strings.Repeat(january, maxLines+1) + recent, "var/log/auth.log.1": early}, []string{"sshd: one", "sshd: two"}, now.Add(-2 * time.Hour), ""},
		"more than is read":    {map[string]string{"var/log/auth.log": early + padding(long) + recent}, []string{"sshd: two"}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "only the last 16 MB of auth.log are read; that what was before is older is told by dates, which senders choose"},
		"first of what is cut": {map[string]string{"var/log/auth.log": early + strings.Repeat(long, 100) + padding(lately)[:maxLogFile-20*len(long)] + "\n"}, nil, now.Add(-30 * time.Minute), ""},
		"first of so many":     {map[string]string{"var/log/auth.log": early + strings.Repeat("Nov 23 00:30:00 host eve: x\n", firstLines/2) + many}, nil, now.Add(-30 * time.Minute), ""},
	} {
		t.Run(what, func(t *testing.T) {
			testenv.HangGuard(t)
			log, err := writtenNow(t, c.files).Log(t.Context(), now.Add(-12*time.Hour))
			var lines, notes []string
			for _, text := range texts(log) {
				if strings.HasPrefix(text, "sshd: ") {
					lines = append(lines, text)
				}
			}
			for _, n := range log.Notes {
				notes = append(notes, n.Reason)
			}
			if diff := cmp.Diff(c.lines, lines); diff != "" || err != nil || !log.From.Equal(c.from) || strings.Join(notes, "; ") != c.note {
				t.Errorf("%v, from %v, %q %s", err, log.From, notes, diff)
			}
		})
	}
}

func TestNoDateHidesFailuresOfTheLastHour(t *testing.T) {
	old := strings.Repeat(attempt(90), 3)
	failures := strings.Repeat(attempt(30), 30)
	eight := strings.Repeat(strings.TrimSuffix(january, "\n")+strings.Repeat("x", 8100)+"\n", 9) // logger(1) sends as much in a line
	filled := strings.Repeat(now.Format("Jan _2 15:04:05")+" host eve: "+strings.Repeat("x", 8000)+"\n", 600)
	for what, c := range map[string]struct {
		files map[string]string
		want  int
		err   string
	}{
		"eight lines":            {map[string]string{"var/log/auth.log": old + failures + eight}, 30, ""},
		"first in a new file":    {map[string]string{"var/log/auth.log": january + attempt(1), "var/log/auth.log.1": old + failures}, 31, ""},
		"at the end that is cut": {map[string]string{"var/log/auth.log": old + failures + january + january + filled[:latelyParts[2]-len(january)-10] + "\n"}, 0, "do not reach back"},
	} {
		got, err := writtenNow(t, c.files).Lately(t.Context(), now.Add(-time.Hour))
		if got.Claimed != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %+v, want %d", what, err, got, c.want)
		}
	}
}

// Whoever asks may have another zone in TZ: what counts is that of the machine.
func TestDatesAreThoseOfTheMachine(t *testing.T) {
	elsewhere := time.FixedZone("TZ", 14*3600)
	root := testenv.Plant(t, map[string]string{"etc/localtime": testenv.TimeZone(-3600, "AZOT"), "var/log/auth.log": early})
	log, err := New(root, nil, func() time.Time { return now.In(elsewhere) }).Log(t.Context(), now.Add(-24*time.Hour))
	if err != nil || len(log.Lines) != 1 || !log.Lines[0].At.Equal(time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, %+v", err, log.Lines)
	}
}
