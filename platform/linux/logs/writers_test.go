// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/logs"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

// A journalWriter collects entries in the export format of systemd, a millisecond apart.
type journalWriter struct {
	strings.Builder
	at time.Time
}

func (w *journalWriter) add(message string, fields ...string) {
	w.at = w.at.Add(time.Millisecond)
	fmt.Fprintf(w, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\n%s\nMESSAGE=%s\n\n",
		w.at.UnixMicro(), w.at.UnixMicro()-noon.Add(-2*time.Hour).UnixMicro(), ownID, ownID, strings.Join(fields, "\n"), message)
}

// shared is a machine in whose journal the system, a service, the kernel, audit and two users wrote, these last and
// most.
func shared(t *testing.T) *Source {
	t.Helper()
	root := testenv.Plant(t, map[string]string{
		"etc/machine-id": ownID, "etc/passwd": "root:x:0:0::/:/bin/sh\nann:x:1001:1001::/:/bin/sh\nmallory:x:1500:1500::/:/bin/sh\n", "etc/subuid": "mallory:100000:65536\n",
		"var/log/journal/" + ownID + "/": "",
	})
	w := &journalWriter{at: noon.Add(-time.Hour)}
	w.add("disk fails", "_UID=0", "_TRANSPORT=syslog", "PRIORITY=2", "_SYSTEMD_UNIT=smartd.service")
	w.add("job fails", "_UID=0", "_TRANSPORT=syslog", "PRIORITY=3", "_SYSTEMD_UNIT=cron.service")
	w.add("page fails", "_UID=33", "_TRANSPORT=stdout", "PRIORITY=3", "_SYSTEMD_UNIT=web.service")
	w.add("I/O error", "_TRANSPORT=kernel", "PRIORITY=3")
	w.add("rules changed", "_TRANSPORT=audit", "PRIORITY=5")
	w.add("of ann by audit", "_TRANSPORT=audit", "_UID=1001", "PRIORITY=5")
	for i := range 30 {
		w.add(fmt.Sprint("of mallory ", i), "_UID=1500", "_TRANSPORT=journal", "PRIORITY=0", "_SYSTEMD_UNIT=cron.service")
	}
	w.add("of a container", "_UID=100007", "_TRANSPORT=journal", "PRIORITY=3", "_SYSTEMD_UNIT=cron.service")
	testenv.Journal(t, filepath.Join(root, "var/log/journal", ownID, "system.journal"), w.String())
	return &Source{Root: root, Runner: sysexec.Host{}}
}

// told reads until there are so many entries, or all.
func told(t *testing.T, s *Source, selection logs.Selection, enough int) (lines []string, c logs.Coverage) {
	t.Helper()
	testenv.HangGuard(t)
	c, err := s.Read(t.Context(), selection, func(e logs.Entry) bool {
		lines = append(lines, fmt.Sprint(map[bool]string{true: "user: "}[e.User], string(e.Text)))
		return len(lines) != enough
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, c
}

// Whatever users write, what the system and its services wrote is read before.
func TestWhatUsersWroteTakesNoTimeOfTheSystems(t *testing.T) {
	s := shared(t)
	lines, c := told(t, s, all, 7)
	same(t, "lines", []string{"rules changed", "I/O error", "page fails", "job fails", "disk fails", "user: of a container", "user: of mallory 29"}, lines)
	if len(c.Logs) != 2 || c.Logs[0].Name != "journal" || c.Logs[0].Stopped || c.Logs[0].Entries != 5 || c.Logs[1].Name != "journal of users" || !c.Logs[1].Stopped || c.Logs[1].Entries != 2 {
		t.Errorf("%+v", c.Logs)
	}
	lines, c = told(t, s, all, 0)
	if n := len(lines); n != 37 || lines[n-1] != "user: of ann by audit" || c.Logs[1].Entries != 32 || c.Logs[1].Stopped {
		t.Errorf("%q, %+v", lines, c.Logs)
	}
	if lines, c = told(t, s, all, 5); !slices.Contains(c.Gaps, logs.Gap{Log: "journal of users", Why: "not read: the bounds of one call were reached before"}) {
		t.Errorf("%q, %+v", lines, c)
	}
}

// Whoever writes so much that the time of a call is over must not hide so what was dropped for it.
func TestWhatWasDroppedIsNotKnownOnceTheTimeIsOver(t *testing.T) {
	testenv.HangGuard(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := shared(t).Read(ctx, unit(""), func(logs.Entry) bool {
		cancel()
		return true
	})
	unknown := slices.ContainsFunc(c.Gaps, func(g logs.Gap) bool { return strings.HasPrefix(g.Why, "whether messages were dropped is not known") })
	if err != nil || !unknown || !c.Incomplete {
		t.Errorf("%v, %+v", err, c.Gaps)
	}
}

// A boot whose clock is ahead until it is set has dates that are still to come.
func TestWhatIsDatedAheadIsReadUpToNow(t *testing.T) {
	s := shared(t)
	w := &journalWriter{at: noon.Add(2 * time.Hour)}
	w.add("fails at boot", "_UID=0", "_TRANSPORT=syslog", "PRIORITY=3")
	w.add("of mallory at boot", "_UID=1500", "_TRANSPORT=syslog", "PRIORITY=3")
	testenv.Journal(t, filepath.Join(s.Root, "var/log/journal", ownID, "system@1.journal"), w.String())
	testenv.HangGuard(t)
	for until, want := range map[string]int{"": 4, "-0s": 4, "-1s": 3} {
		r, err := logs.Read(t.Context(), s, logs.Request{Priority: "err", Text: "fails", Until: until, Since: "-2h"}, noon)
		if err != nil || r.ErrorsTotal == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		var got []string
		for _, p := range r.Patterns {
			got = append(got, p.Sample)
		}
		if len(got) != want {
			t.Errorf("until %q: %q", until, got)
		}
	}
}

// A user's job of cron can use up the rate limit of cron.service, and have root's errors dropped. journald alone is
// believed about that.
func TestWhatTheJournalDroppedIsSaid(t *testing.T) {
	s := shared(t)
	w := &journalWriter{at: noon.Add(-30 * time.Minute)}
	suppressed := func(by string, n int, unit string) {
		w.add(fmt.Sprintf("Suppressed %d messages from %s", n, unit), "_TRANSPORT="+by, "_UID=0", "PRIORITY=6", "MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e", "_SYSTEMD_UNIT=systemd-journald.service")
	}
	suppressed("driver", 900, "session-3.scope")
	suppressed("driver", 70, "cron.service")
	suppressed("driver", 30, "cron.service")
	suppressed("journal", 5, "forged.service")
	w.add("Missed 12 kernel messages", "_TRANSPORT=driver", "PRIORITY=4", "MESSAGE_ID=e9bf28e6e834481bb6f48f548ad13606")
	testenv.Journal(t, filepath.Join(s.Root, "var/log/journal", ownID, "system@1.journal"), w.String())
	const limit = " are missing: they were dropped by the journal's rate limit, which all processes of a unit share"
	cron, kernel, session := "100 messages of cron.service"+limit, "12 messages of the kernel are missing: they came faster than journald read them", "900 messages of session-3.scope"+limit
	for asked, want := range map[string][]string{"": {cron, kernel, session}, "cron.service": {cron}, "kernel": {kernel}, "web.service": nil} {
		_, c := told(t, s, unit(asked), 0)
		var got []string
		for _, g := range c.Gaps {
			if strings.Contains(g.Why, "missing") {
				got = append(got, g.Why)
			}
		}
		same(t, "of "+asked, want, got)
		if c.Incomplete != (want != nil) {
			t.Errorf("%s: incomplete %t", asked, c.Incomplete)
		}
	}
}

// Audit has the last ID for no user: what it says then is no user's, and counts once.
func TestWhatAuditSaysOfNobodyCountsOnce(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"etc/machine-id": ownID, "etc/passwd": "ann:x:1001:1001::/:/bin/sh\n", "var/log/journal/" + ownID + "/": ""})
	w := &journalWriter{at: noon.Add(-time.Hour)}
	w.add("of nobody", "_TRANSPORT=audit", "_UID=4294967295", "PRIORITY=5")
	w.add("of ann", "_TRANSPORT=syslog", "_UID=1001", "PRIORITY=5")
	testenv.Journal(t, filepath.Join(root, "var/log/journal", ownID, "system.journal"), w.String())
	lines, _ := told(t, &Source{Root: root, Runner: sysexec.Host{}}, all, 0)
	same(t, "lines", []string{"of nobody", "user: of ann"}, lines)
}

// The same of one unit, and of one priority.
func TestUsersWithinAUnitAreReadApart(t *testing.T) {
	s, worst := shared(t), unit("cron.service")
	worst.Priority = 3
	lines, _ := told(t, s, worst, 3)
	same(t, "lines", []string{"job fails", "user: of a container", "user: of mallory 29"}, lines)
	if lines, _ = told(t, s, unit("kernel"), 0); !slices.Equal(lines, []string{"I/O error"}) {
		t.Errorf("%q", lines)
	}
}

// What is left out of thousands of users is said, and accounts are read before subordinate IDs.
func TestManyUsersAreBounded(t *testing.T) {
	var uids strings.Builder
	for i := range 3 * maxWriters {
		fmt.Fprintln(&uids, 100_000+i)
	}
	s := shared(t)
	run := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(uids.String() + "200000\n1500\n0\n1001\n")}, {Stdout: []byte(journalLine)}, {Stdout: []byte(strings.Replace(journalLine, "1772622", "1772522", 1))}}}
	s.Runner = run
	_, gaps, c := read(t, s, all)
	same(t, "gaps", []string{"journal of users: 603 user IDs wrote into it, and what 403 of them wrote is not read"}, gaps)
	if !c.Incomplete || !strings.Contains(run.Ran[1], " _UID=0 + _TRANSPORT=kernel") || !strings.Contains(run.Ran[3], " _UID=1001 _UID=1500 _UID=200000 _UID=100000 ") || strings.Contains(run.Ran[3], "_UID=100197") {
		t.Errorf("%+v, ran %.300q", c, run.Ran)
	}
}

// An entry that is longer than is read may lack its user ID.
func TestAnEntryThatIsCutIsNotTheSystems(t *testing.T) {
	s := withJournal(t, sysexec.Result{Stdout: []byte(strings.Replace(journalLine, `"hello"`, `["long","`+strings.Repeat("x", 1<<20)+`"]`, 1) + journalLine)}, sysexec.Result{Stdout: []byte(journalLine)})
	lines, _ := told(t, s, all, 0)
	same(t, "lines", []string{"user: long", "hello"}, lines)
}

// A runner fails from the beginning.
type failing struct{ replay.Sequence }

func (f *failing) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if strings.HasSuffix(c.Args[len(c.Args)-1], "--field=_UID") {
		return sysexec.Result{}, errors.New("no")
	}
	return f.Sequence.Run(ctx, c)
}

func TestWhereTheUsersAreNotKnownThatIsSaid(t *testing.T) {
	s := withJournal(t)
	s.Runner = &failing{replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(journalLine)}, {Stdout: []byte(strings.Replace(journalLine, "1772622", "1772522", 1))}}}}
	lines, gaps, _ := read(t, s, all)
	if len(lines) != 1 || !slices.Contains(gaps, "journal: what users wrote is not read apart, and may take the time of the rest: no") {
		t.Errorf("%q, %q", lines, gaps)
	}
}
