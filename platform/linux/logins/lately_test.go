// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

func lately(t *testing.T, files map[string]string) (Lately, error) {
	t.Helper()
	return New(testenv.Plant(t, files), nil, func() time.Time { return now }).Lately(t.Context(), now.Add(-time.Hour))
}

func TestFailuresOfTheLastHour(t *testing.T) {
	old := strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.1", now.Add(-2*time.Hour)), 5)
	btmp := old + strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now.Add(-time.Minute)), 30) + record(6, "tty1", "mira", "", now) + record(6, "tty1", "x", "", now.Add(99*time.Hour))
	got, err := lately(t, map[string]string{"var/log/btmp": btmp})
	if diff := cmp.Diff(Lately{Failures: 31, ByAddress: map[string]int{"203.0.113.9": 30}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	log := "Nov 23 11:59:00 host sshd[7]: Connection closed by authenticating user root 203.0.113.9 port 1 [preauth]\nNov 23 11:59:00 host cron[7]: x\nNov 23 09:59:00 host sshd[7]: Connection closed by authenticating user root 203.0.113.9 port 2 [preauth]\n"
	got, err = lately(t, map[string]string{"var/log/btmp": old, "var/log/auth.log": log})
	if diff := cmp.Diff(Lately{ByAddress: map[string]int{}, Claimed: 1, File: "/var/log/auth.log"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	got, err = lately(t, map[string]string{"var/log/btmp": ""})
	if diff := cmp.Diff(Lately{ByAddress: map[string]int{}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := lately(t, nil); !hostfile.Missing(err) {
		t.Error(err)
	}
}

// recordBy is the record of a process.
func recordBy(pid int, terminal, user, host string, at time.Time) string {
	b := []byte(record(6, terminal, user, host, at))
	binary.NativeEndian.PutUint32(b[4:], uint32(pid))
	return string(b)
}

// Two records of one process are those of one guess where the first is of the name, which is not known here.
func TestRecordsOfANameAreNoFailuresBesideThoseOfItsPasswords(t *testing.T) {
	const host, other = "203.0.113.9", "203.0.113.1"
	at := func(seconds int) time.Time { return now.Add(-time.Minute).Add(time.Duration(seconds) * time.Second) }
	guess := recordBy(7, "ssh:notty", "x", host, at(0))
	var many strings.Builder
	for pid := range maxLately {
		many.WriteString(strings.Repeat(recordBy(pid+1, "ssh:notty", "x", host, at(0)), 2))
	}
	long := strings.Repeat("l", 40) // of which a record has 32
	passwd := map[string]string{"etc/passwd": "mira:x:1000:1000::/:/bin/sh\n" + long + ":x:1001:1001::/:/bin/sh\n"}
	with := func(files map[string]string, name, text string) map[string]string {
		files = maps.Clone(files)
		files[name] = text
		return files
	}
	in := func(source string) map[string]string {
		return with(passwd, "etc/nsswitch.conf", "passwd: files "+source+" systemd\n")
	}
	for what, c := range map[string]struct {
		btmp  string
		files map[string]string
		want  int
	}{
		"a name alone":       {guess, passwd, 1},
		"a password":         {guess + recordBy(7, "ssh:notty", "x", host, at(2)), passwd, 1},
		"three passwords":    {guess + recordBy(7, "ssh:notty", "x", host, at(2)) + recordBy(7, "ssh:notty", "x", host, at(4)) + recordBy(7, "ssh:notty", "x", host, at(6)), passwd, 3},
		"among others":       {guess + recordBy(8, "ssh:notty", "x", host, at(1)) + recordBy(7, "ssh:notty", "x", host, at(2)) + recordBy(8, "ssh:notty", "x", host, at(3)), passwd, 2},
		"an account":         {recordBy(7, "ssh:notty", "mira", host, at(0)) + recordBy(7, "ssh:notty", "mira", host, at(2)), passwd, 2},
		"a long account":     {recordBy(7, "ssh:notty", long, host, at(0)) + recordBy(7, "ssh:notty", long, host, at(2)), passwd, 2},
		"accounts unread":    {guess + recordBy(7, "ssh:notty", "x", host, at(2)), nil, 2},
		"the number again":   {guess + recordBy(7, "ssh:notty", "x", host, at(-600)), passwd, 2},
		"of a directory":     {guess + recordBy(7, "ssh:notty", "x", host, at(2)), in("sss ldap"), 2},
		"of sssd":            {guess + recordBy(7, "ssh:notty", "x", host, at(2)), with(in("sss"), "var/lib/sss/pipes/nss", ""), 2},
		"of no sssd":         {guess + recordBy(7, "ssh:notty", "x", host, at(2)), in("sss"), 1},
		"another name":       {guess + recordBy(7, "ssh:notty", "y", host, at(2)), passwd, 2},
		"another address":    {guess + recordBy(7, "ssh:notty", "x", other, at(2)), passwd, 2},
		"of no process":      {strings.Repeat(recordBy(0, "ssh:notty", "x", host, at(0)), 2), passwd, 2},
		"at a console":       {recordBy(7, "tty1", "x", "", at(0)) + recordBy(7, "tty1", "x", "", at(2)), passwd, 2},
		"as many as counted": {many.String(), passwd, maxLately},
	} {
		files := map[string]string{"var/log/btmp": c.btmp}
		maps.Copy(files, c.files)
		got, err := lately(t, files)
		if err != nil || got.Failures != c.want {
			t.Errorf("%s: %v, %+v, want %d", what, err, got, c.want)
		}
	}
}

// attempt is a line of a client that was not let in, minutes ago.
func attempt(minutes int) string {
	return now.Add(-time.Duration(minutes)*time.Minute).Format("Jan _2 15:04:05") + " host sshd[7]: Failed password for root from 203.0.113.9 port 1 ssh2\n"
}

// Any user can write to the files of syslog, as long lines as logger(1) lets them.
func TestFailuresAreNotHiddenBehindWhatUsersLog(t *testing.T) {
	padding := func(bytes int) string {
		line := now.Format("Jan _2 15:04:05") + " host sshd[8]: " + strings.Repeat("x", 8000) + "\n"
		return strings.Repeat(line, bytes/len(line)+1)
	}
	long := strings.Repeat("x", 1<<20) + "\n"
	failures := strings.Repeat(attempt(30), 30)
	old := strings.Repeat(attempt(90), 3)
	guessed := strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now), 30)
	const january = "Jan  1 00:00:00 host x: y\n"
	pretended := "Nov 23 11:59:00 host x: " + january + padding(64 << 10)[:64<<10-len(january)]
	for what, c := range map[string]struct {
		files map[string]string
		want  int
		err   string
	}{
		"95 lines":           {map[string]string{"var/log/auth.log": old + failures + padding(64<<10)}, 30, ""},
		"a megabyte":         {map[string]string{"var/log/auth.log": old + failures + padding(1<<20)}, 30, ""},
		"long lines":         {map[string]string{"var/log/auth.log": old + failures + long + long}, 30, ""},
		"more than is read":  {map[string]string{"var/log/auth.log": old + failures + padding(5<<20)}, 0, "the last 4 MB of /var/log/auth.log do not reach back to 2026-11-23T11:00:00Z; 0 are in them"},
		"in one line":        {map[string]string{"var/log/auth.log": old + failures + strings.Repeat("x", 5<<20)}, 0, "do not reach back"},
		"some of them":       {map[string]string{"var/log/auth.log": failures + padding(5<<20) + failures}, 30, "; 30 are in them"},
		"as many as counted": {map[string]string{"var/log/auth.log": padding(5<<20) + strings.Repeat(attempt(30), maxLately)}, maxLately, ""},
		"one of su":          {map[string]string{"var/log/auth.log": old + failures, "var/log/btmp": record(6, "pts/0", "root", "", now)}, 30, ""},
		"fewer than of sshd": {map[string]string{"var/log/auth.log": old + attempt(1), "var/log/btmp": strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.1", now), 5)}, 5, ""},
		"just rotated":       {map[string]string{"var/log/auth.log": attempt(1), "var/log/auth.log.1": old + failures}, 31, ""},
		"and compressed":     {map[string]string{"var/log/auth.log": attempt(1), "var/log/auth.log.1.gz": "x"}, 1, "auth.log.1.gz is compressed"},
		"known all the same": {map[string]string{"var/log/auth.log": padding(5 << 20), "var/log/btmp": guessed}, 30, "do not reach back"},
		"a time in a line":   {map[string]string{"var/log/auth.log": old + failures + pretended}, 30, ""},
		"a new machine":      {map[string]string{"var/log/auth.log": failures}, 30, ""},
		"of Red Hat":         {map[string]string{"var/log/secure": old + failures + padding(1<<20)}, 30, ""},
	} {
		t.Run(what, func(t *testing.T) {
			root := testenv.Plant(t, c.files)
			for name := range c.files {
				if err := os.Chtimes(filepath.Join(root, name), now, now); err != nil {
					t.Fatal(err)
				}
			}
			got, err := New(root, nil, func() time.Time { return now }).Lately(t.Context(), now.Add(-time.Hour))
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if max(got.Failures, got.Claimed) != c.want || got.Claimed > 0 && got.Failures >= got.Claimed {
				t.Errorf("%+v, want %d", got, c.want)
			}
		})
	}
	root := testenv.Plant(t, map[string]string{"var/log/auth.log": attempt(1), "var/log/auth.log.1": failures})
	if err := os.Chtimes(filepath.Join(root, "var/log/auth.log.1"), now, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, err := New(root, nil, func() time.Time { return now }).Lately(t.Context(), now.Add(-time.Hour)); err != nil || got.Claimed != 1 {
		t.Errorf("rotated before: %v, %+v", err, got)
	}
}

// The journal knows who wrote what a file only claims.
func TestTheJournalDecidesAboutWhatAFileClaims(t *testing.T) {
	guessed := strings.Repeat(entry(0, "sshd", "Failed password for root from 198.51.100.7 port 1 ssh2", now.Add(-time.Minute)), 30)
	written := strings.Repeat(entry(1001, "sshd", "Failed password for root from 203.0.113.9 port 1 ssh2", now), 30)
	hadWritten := strings.Repeat(entryOf(0, "sshd", "Failed password for root from 203.0.113.9 port 1 ssh2", now, map[string]string{"_EXE": "/usr/bin/sudo"}), 30)
	claim := Lately{ByAddress: map[string]int{}, Claimed: 40, File: "/var/log/auth.log"}
	for what, c := range map[string]struct {
		begins   time.Time
		lines    int
		journal  *journalctlSays
		want     Lately
		attempts int
	}{
		"written by a user":     {now.Add(-48 * time.Hour), 40, &journalctlSays{root: written}, Lately{ByAddress: map[string]int{}}, 2},
		"guessed":               {now.Add(-48 * time.Hour), 40, &journalctlSays{root: guessed + written}, Lately{Failures: 30, ByAddress: map[string]int{"198.51.100.7": 30}}, 2},
		"a journal that is new": {now.Add(-30 * time.Minute), 40, &journalctlSays{root: guessed}, Lately{Failures: 30, ByAddress: map[string]int{"198.51.100.7": 30}, Claimed: 40, File: "/var/log/auth.log"}, 2},
		"one that is damaged":   {now.Add(-48 * time.Hour), 40, &journalctlSays{exit: 1, stderr: "Bad message\n"}, claim, 1},
		"had written as root":   {now.Add(-48 * time.Hour), 40, &journalctlSays{root: guessed + hadWritten}, Lately{Failures: 30, ByAddress: map[string]int{"198.51.100.7": 30}, Claimed: 60, File: "the journal"}, 2},
		"not worth a program":   {now.Add(-48 * time.Hour), enough - 1, &journalctlSays{root: guessed}, Lately{ByAddress: map[string]int{}, Claimed: enough - 1, File: "/var/log/auth.log"}, 0},
	} {
		root := journalRoot(t, c.begins, map[string]string{"var/log/auth.log": strings.Repeat(attempt(90), 3) + strings.Repeat(attempt(1), c.lines)})
		got, err := New(root, c.journal, func() time.Time { return now }).Lately(t.Context(), now.Add(-time.Hour))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil || len(c.journal.asked) != c.attempts || c.journal.limits > 2500*time.Millisecond { // a figure of health has 3 s
			t.Errorf("%s: %v, %d runs %s", what, err, len(c.journal.asked), diff)
		}
	}
}

// A server on the internet has gigabytes of failures; the end of them is read.
func TestFailuresOfTheLastHourAreBounded(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/log/btmp": strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now), 5000)})
	got, err := New(root, nil, func() time.Time { return now }).Lately(t.Context(), now.Add(-time.Hour))
	if err != nil || got.Failures != maxLately {
		t.Errorf("%v, %+v", err, got)
	}
	if err := os.Truncate(filepath.Join(root, "var/log/btmp"), 1<<33); err != nil { // most of it a hole
		t.Fatal(err)
	}
	if got, err := New(root, nil, func() time.Time { return now }).Lately(t.Context(), now.Add(-time.Hour)); err != nil || got.Failures != 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

// A file of syslog whose end no line is in that can be read tells of no time, and not of all.
func TestALogOfNothingReachesBackNowhere(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/log/auth.log": attempt(30)})
	name := filepath.Join(root, "var/log/auth.log")
	if err := os.Truncate(name, maxLogFile+1<<10); err != nil { // the rest is a hole
		t.Fatal(err)
	}
	if err := os.Chtimes(name, now, now); err != nil {
		t.Fatal(err)
	}
	log, err := New(root, nil, func() time.Time { return now }).Log(t.Context(), now.Add(-time.Hour))
	if err != nil || len(log.Lines) != 0 || !log.From.Equal(now) {
		t.Errorf("%v, from %v, %d lines", err, log.From, len(log.Lines))
	}
}

func BenchmarkLately(b *testing.B) {
	var log strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&log, "Nov 23 11:59:00 host sshd[7]: Failed password for invalid user admin from 203.0.113.9 port %d ssh2\n", n)
	}
	for name, files := range map[string]map[string]string{
		"btmp":     {"var/log/btmp": strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now), 5000)},
		"auth.log": {"var/log/auth.log": log.String()},
	} {
		b.Run(name, func(b *testing.B) {
			r := New(testenv.Plant(b, files), nil, func() time.Time { return now })
			for b.Loop() {
				if _, err := r.Lately(b.Context(), now.Add(-time.Hour)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
