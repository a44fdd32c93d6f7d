// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/answer"
	"sentinel/internal/logins"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/accounts"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// journalctlSays plays journalctl: it answers by whether lines of root alone are asked for.
type journalctlSays struct {
	root, users string
	exit        int
	stderr      string
	usersErr    error // of the program, for lines of users
	drops       string
	asked       [][]string
	limits      time.Duration // of all runs together
}

func (j *journalctlSays) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	j.asked = append(j.asked, c.Args)
	j.limits += c.Timeout
	out, err := j.users, j.usersErr
	switch {
	case slices.Contains(c.Args, "_UID=0"):
		out, err = j.root, nil
	case slices.Contains(c.Args, "_TRANSPORT=driver"):
		out, err = j.drops, nil
	}
	for piece := range slices.Chunk([]byte(out), 7) {
		if !c.OnStdout(piece) {
			return sysexec.Result{Stderr: []byte(j.stderr)}, nil
		}
	}
	return sysexec.Result{Stderr: []byte(j.stderr), Exit: j.exit}, err
}

// journalFile is the head of a file of the journal whose first entry has a time.
func journalFile(first time.Time) string {
	b := make([]byte, 4096)
	copy(b, "LPKSHHRH")
	binary.LittleEndian.PutUint64(b[184:], uint64(first.UnixMicro()))
	return string(b)
}

func entry(uid int, program, text string, at time.Time) string {
	return entryOf(uid, program, text, at, map[string]string{"_EXE": "/usr/sbin/" + program})
}

// entryOf is an entry with more that journald knows of its writer.
func entryOf(uid int, program, text string, at time.Time, known map[string]string) string {
	fields := map[string]string{"_UID": fmt.Sprint(uid), "_GID": fmt.Sprint(uid), "_PID": "7", "SYSLOG_IDENTIFIER": program, "MESSAGE": text, "__REALTIME_TIMESTAMP": fmt.Sprint(at.UnixMicro())}
	maps.Copy(fields, known)
	raw, _ := json.Marshal(fields)
	return string(raw) + "\n"
}

const machine = "0123456789abcdef0123456789abcdef"

func journalRoot(t *testing.T, first time.Time, more map[string]string) string {
	files := map[string]string{
		"etc/machine-id": machine + "\n", "etc/passwd": "root:x:0:0::/root:/bin/sh\neve:x:1001:1001::/home/eve:/bin/sh\n",
		"var/log/journal/" + machine + "/system.journal":                 journalFile(first),
		"var/log/journal/" + strings.Repeat("f", 32) + "/system.journal": journalFile(now.Add(-9999 * time.Hour)), // of another machine
		"var/log/journal/" + machine + "/user-1001.journal":              "",
		"var/log/journal/" + machine + "/system@00.journal~":             "",
	}
	maps.Copy(files, more)
	return testenv.Plant(t, files)
}

func texts(log logins.Log) (list []string) {
	for _, l := range log.Lines {
		list = append(list, strings.TrimSpace(l.By+" "+l.Program+": "+l.Text))
	}
	return list
}

// Anybody can send lines in any name; the journal knows who did.
func TestTheJournalIsReadByWhoWroteIt(t *testing.T) {
	j := &journalctlSays{
		root:  entry(0, "sshd", "Accepted password for mira from 198.51.100.7 port 1 ssh2", now) + entry(1001, "sshd", "Accepted password for root from 10.0.0.1 port 1 ssh2", now),
		users: entry(1001, "su", "FAILED SU (to root) mira on pts/0", now) + entry(0, "su", "FAILED SU (to root) once on pts/0", now) + "not json\n" + `{"MESSAGE":null,"_UID":"1001"}` + "\n",
	}
	log, err := New(journalRoot(t, now.Add(-48*time.Hour), nil), j, func() time.Time { return now }).Log(t.Context(), now.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"sshd: Accepted password for mira from 198.51.100.7 port 1 ssh2", "eve su: FAILED SU (to root) mira on pts/0", "su: FAILED SU (to root) once on pts/0"}
	if diff := cmp.Diff(want, texts(log)); diff != "" || log.Anybody || log.Name != "journal" || !log.From.Equal(now.Add(-48*time.Hour)) {
		t.Errorf("%+v %s", log, diff)
	}
	for _, args := range j.asked {
		for _, a := range args {
			if !strings.HasPrefix(a, "--") && !strings.Contains(a, "=") {
				t.Errorf("journalctl gets %q", a)
			}
		}
	}
}

// Every user can send entries of a size and a number that nobody else has, under the name of sudo, and keeps
// nothing but lines of that name from being told.
func TestWhatAUserSendsHidesNoLoginsFromOutside(t *testing.T) {
	outside := entry(0, "sshd", "Failed password for root from 203.0.113.7 port 1 ssh2", now)
	const told = "sshd: Failed password for root from 203.0.113.7 port 1 ssh2"
	huge := entry(1001, "sudo", strings.Repeat("\x01", 9000), now)
	flood := strings.Repeat(entry(1001, "sudo", "x", now.Add(-time.Hour)), maxUserLines)
	late := fmt.Errorf("run: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		users string
		err   error
		lines int // of users
		note  string
	}{
		"a huge one":              {huge + entry(1001, "sudo", "x", now), nil, 1, "1 entries of the journal are longer than any of such a program, and left out"},
		"very many":               {flood, nil, maxUserLines, "those of sudo, su and passwd before 2026-11-23T11:00:00Z are more than is read"},
		"more than can be read":   {entry(1001, "sudo", "x", now), late, 1, "those of sudo, su and passwd before 2026-11-23T12:00:00Z are more than is read"},
		"what is not to be read":  {"", late, 0, "those of sudo, su and passwd: read the journal: run: context deadline exceeded"},
		"another trouble of them": {"", errors.New("cannot be started"), 0, "those of sudo, su and passwd: read the journal: cannot be started"},
	} {
		j := &journalctlSays{root: outside, users: c.users, usersErr: c.err}
		log, err := New(journalRoot(t, now.Add(-48*time.Hour), nil), j, func() time.Time { return now }).Log(t.Context(), now.Add(-24*time.Hour))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := texts(log); len(got) != 1+c.lines || got[0] != told || !log.From.Equal(now.Add(-48*time.Hour)) {
			t.Errorf("%s: %d lines, the first of %.200q, from %v", name, len(got), got, log.From)
		}
		if len(log.Notes) != 1 || log.Notes[0].Reason != c.note {
			t.Errorf("%s: %+v", name, log.Notes)
		}
	}
}

// Whoever writes enough into the unit of sshd, or runs sudo where they write much, has its lines dropped.
func TestLinesThatTheJournalDroppedAreSaid(t *testing.T) {
	drop := func(unit string) string {
		return entry(0, "systemd-journald", "Suppressed 700 messages from "+unit, now)
	}
	j := &journalctlSays{drops: drop("ssh.service") + drop("web.service") + drop("session-3.scope") + drop("ssh.service")}
	log, err := New(journalRoot(t, now.Add(-48*time.Hour), nil), j, func() time.Time { return now }).Log(t.Context(), now.Add(-24*time.Hour))
	var notes []string
	for _, n := range log.Notes {
		notes = append(notes, n.Field+": "+n.Reason)
	}
	want := []string{
		"failures: of the journal, 1400 messages of ssh.service are missing: they were dropped by the journal's rate limit, which all processes of a unit share",
		"failures: of the journal, 700 messages of session-3.scope are missing: they were dropped by the journal's rate limit, which all processes of a unit share",
	}
	if diff := cmp.Diff(want, notes); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

// What has no room is not read to its end.
func TestNoMoreOfAJournalIsKeptThanFits(t *testing.T) {
	k := &keeper{}
	line := []byte(strings.Repeat("x", maxEntry-1))
	n := 0
	for k.line(line, false) {
		n++
	}
	if want := maxJournal/maxEntry - 1; n < want || n > want+1 || len(k.lines) > maxJournal || k.line(line, false) {
		t.Errorf("%d lines, %d bytes", n, len(k.lines))
	}
}

// journalctl says of a damaged file only its name.
func TestTheTimeThatADamagedFileOfTheJournalHadIsSaid(t *testing.T) {
	name := fmt.Sprintf("system@%s-%016x-%016x.journal", machine, 1, now.Add(-9*time.Hour).UnixMicro())
	root := journalRoot(t, now.Add(-2*time.Hour), map[string]string{"var/log/journal/" + machine + "/" + name: "torn"})
	log, err := New(root, &journalctlSays{}, func() time.Time { return now }).Log(t.Context(), now.Add(-24*time.Hour))
	want := "of the journal, entries until 2026-11-23T10:00:00Z are missing, or some of them: " + name + " is damaged"
	if err != nil || len(log.Notes) != 1 || log.Notes[0].Reason != want {
		t.Errorf("%v, %+v", err, log)
	}
}

// What was rotated out of the journal is in the files of syslog, and said to be from there.
func TestFilesTellWhatTheJournalLost(t *testing.T) {
	root := journalRoot(t, now.Add(-2*time.Hour), map[string]string{
		"var/log/auth.log": "Nov 23 02:00:00 host sshd[7]: early\nNov 23 11:00:00 host sshd[7]: twice\n",
	})
	j := &journalctlSays{root: entry(0, "sshd", "late", now)}
	log, err := New(root, j, func() time.Time { return now }).Log(t.Context(), now.Add(-24*time.Hour))
	if diff := cmp.Diff([]string{"sshd: late", "sshd: early"}, texts(log)); diff != "" || err != nil || !log.Anybody || log.Name != "journal and /var/log/auth.log" {
		t.Errorf("%v, %+v %s", err, log, diff)
	}
}

// journald may only forward to syslog, beside a journal that it kept before.
func TestFilesTellWhatCameAfterTheJournal(t *testing.T) {
	file := journalFile(now.Add(-48 * time.Hour))
	header := []byte(file)
	binary.LittleEndian.PutUint64(header[192:], uint64(now.Add(-2*time.Hour).UnixMicro()))
	root := journalRoot(t, now, map[string]string{
		"var/log/journal/" + machine + "/system.journal": string(header),
		"var/log/auth.log": "Nov 23 09:59:00 host sshd[7]: twice\nNov 23 10:00:01 host sshd[7]: at its end\nNov 23 11:00:00 host sshd[7]: late\n",
	})
	j := &journalctlSays{root: entry(0, "sshd", "kept", now.Add(-2*time.Hour))}
	log, err := New(root, j, func() time.Time { return now }).Log(t.Context(), now.Add(-24*time.Hour))
	if diff := cmp.Diff([]string{"sshd: kept", "sshd: late"}, texts(log)); diff != "" || err != nil || !log.Anybody || log.Name != "journal and /var/log/auth.log" || !log.From.Equal(now.Add(-48*time.Hour)) {
		t.Errorf("%v, %+v %s", err, log, diff)
	}
}

// packed compresses a log as logrotate does.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Where a log is rotated each day, a week is in eight files, most of them compressed.
func TestWhatWasRotatedIsReadAsFarAsAskedFor(t *testing.T) {
	const day = 24 * time.Hour
	reached := now.Add(-5 * day) // when the file was last written to that is not read any more
	old := packed(t, "Nov 19 02:00:00 host sshd[7]: four\n")
	for name, c := range map[string]struct {
		third string // file, and what is in it
		text  string
		lines []string
		from  time.Time
		notes string
	}{
		"with gzip":           {"auth.log.3.gz", old, []string{"sshd: four", "sshd: three", "sshd: two", "sshd: one"}, reached, ""},
		"by date":             {"auth.log-20261120.gz", old, []string{"sshd: four", "sshd: three", "sshd: two", "sshd: one"}, reached, ""},
		"otherwise":           {"auth.log.3.xz", "?", []string{"sshd: three", "sshd: two", "sshd: one"}, now.Add(-2*day - 10*time.Hour), "auth.log.3.xz is not read: it is compressed in a way that is not read"},
		"damaged":             {"auth.log.3.gz", old[:len(old)/2], []string{"sshd: three", "sshd: two", "sshd: one"}, now.Add(-2*day - 10*time.Hour), "auth.log.3.gz is not read: unexpected EOF"},
		"no gzip":             {"auth.log.3.gz", "text\n", []string{"sshd: three", "sshd: two", "sshd: one"}, now.Add(-2*day - 10*time.Hour), "auth.log.3.gz is not read: "},
		"larger than is read": {"auth.log.3.gz", packed(t, strings.Repeat("0123456789abcdef", maxUnpacked/16+1)), []string{"sshd: three", "sshd: two", "sshd: one"}, now.Add(-2*day - 10*time.Hour), "auth.log.3.gz is not read: it has more than 64 MB unpacked"},
		"the last of it":      {"auth.log.3.gz", packed(t, strings.Repeat("x", 2*maxLogFile)+"\nNov 20 02:00:00 host sshd[7]: end\n"), []string{"sshd: end", "sshd: three", "sshd: two", "sshd: one"}, now.Add(-3*day - 10*time.Hour), ""},
		"and one of its kind": {"auth.log.old", "Nov 19 02:00:00 host sshd[7]: four\n", []string{"sshd: three", "sshd: two", "sshd: one"}, reached, ""},
	} {
		root := testenv.Plant(t, map[string]string{
			"var/log/auth.log":      "Nov 23 02:00:00 host sshd[7]: one\n",
			"var/log/auth.log.1":    "Nov 22 02:00:00 host sshd[7]: two\n",
			"var/log/auth.log.2.gz": packed(t, "Nov 21 02:00:00 host sshd[7]: three\n"),
			"var/log/" + c.third:    c.text,
			"var/log/auth.log.9":    "Nov  1 02:00:00 host sshd[7]: before\n",
		})
		for i, file := range []string{"auth.log.9", c.third, "auth.log.2.gz", "auth.log.1", "auth.log"} {
			at := now.Add(time.Duration(i-5) * day)
			if err := os.Chtimes(filepath.Join(root, "var/log", file), at, at); err != nil {
				t.Fatal(err)
			}
		}
		log, err := New(root, nil, func() time.Time { return now }).Log(t.Context(), now.Add(-4*day-11*time.Hour))
		var notes string
		for _, n := range log.Notes {
			notes += n.Reason
		}
		if diff := cmp.Diff(c.lines, texts(log)); diff != "" || err != nil || !log.From.Equal(c.from) || !strings.HasPrefix(notes, c.notes) || (notes == "") != (c.notes == "") {
			t.Errorf("%s: %v, from %v, %q %s", name, err, log.From, notes, diff)
		}
	}
}

func TestACorruptJournalIsSaid(t *testing.T) {
	clock := func() time.Time { return now }
	files := map[string]string{"var/log/auth.log": "Nov 22 02:00:00 host sshd[7]: text\n"}
	broken := &journalctlSays{exit: 1, stderr: "Failed to open files: Bad message\n"}
	log, err := New(journalRoot(t, now, files), broken, clock).Log(t.Context(), now.Add(-24*time.Hour))
	if err != nil || log.Name != "/var/log/auth.log" || len(log.Notes) != 1 || !strings.Contains(log.Notes[0].Reason, "Bad message") {
		t.Errorf("%v, %+v", err, log)
	}
	partly := &journalctlSays{root: entry(0, "sshd", "text", now), stderr: "Journal file x is truncated, ignoring file.\n"}
	log, err = New(journalRoot(t, now.Add(-99*time.Hour), nil), partly, clock).Log(t.Context(), now.Add(-24*time.Hour))
	if err != nil || len(log.Lines) != 1 || len(log.Notes) == 0 || !strings.Contains(log.Notes[0].Reason, "truncated") {
		t.Errorf("%v, %+v", err, log)
	}
	if _, err := New(journalRoot(t, now, nil), broken, clock).Log(t.Context(), now.Add(-24*time.Hour)); err == nil || !strings.Contains(err.Error(), "Bad message") {
		t.Error(err)
	}
}

func TestWithoutAnyLogThereIsNoAnswer(t *testing.T) {
	_, err := New(t.TempDir(), nil, func() time.Time { return now }).Log(t.Context(), now)
	if err == nil || errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

func TestFilesOfSyslog(t *testing.T) {
	raw := strings.Join([]string{
		"Dec 31 23:59:59 host sshd[812]: last year", "Nov  3 02:00:00 host sshd[812]: one digit", "2026-11-23T02:00:00.123456+01:00 host sshd-session[812]: new form",
		"Nov 23 02:00:00 host gdm-password]: pam", "Nov 23 02:00:00 host su: no PID", "Feb 30 02:00:00 host su: no day", "binary \x00\xff\xfe", "", strings.Repeat("x", maxLogLine+1),
		"Nov 23 02:00:00 host sshd[812]: " + strings.Repeat("y", 1<<20), "Nov 24 06:00:00 host sshd[812]: a clock that was set back", "Nov 23 02:00:00 host auth.info sshd[812]: BusyBox", "Nov 23 02:00:00 host sshd[812]: cut of",
	}, "\n")
	list, skipped := parseFile([]byte(raw), false, now)
	var got []string
	for _, l := range list {
		got = append(got, fmt.Sprintf("%s %s[%d]: %s", l.At.UTC().Format(time.RFC3339), l.Program, l.PID, l.Text))
	}
	want := []string{
		"2025-12-31T23:59:59Z sshd[812]: last year", "2026-11-03T02:00:00Z sshd[812]: one digit", "2026-11-23T01:00:00Z sshd-session[812]: new form",
		"2026-11-23T02:00:00Z gdm-password][0]: pam", "2026-11-23T02:00:00Z su[0]: no PID", "2026-11-24T06:00:00Z sshd[812]: a clock that was set back", "2026-11-23T02:00:00Z sshd[812]: BusyBox", "2026-11-23T02:00:00Z sshd[812]: cut of",
	}
	if diff := cmp.Diff(want, got); diff != "" || skipped != 5 {
		t.Errorf("%d skipped %s", skipped, diff)
	}
	if list, _ := parseFile([]byte(raw), true, now); list[0].Text != "one digit" {
		t.Errorf("%+v", list[0])
	}
}

func FuzzParseSyslog(f *testing.F) {
	f.Add([]byte("Nov 23 02:00:00 host sshd[812]: text\n"))
	f.Add([]byte("2026-11-23T02:00:00+01:00 host sshd[812]: text"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, ok := parseSyslog(raw, now)
		if ok && (l.Program == "" || l.At.IsZero() || strings.ContainsAny(l.Program, " :[")) {
			t.Errorf("%q: %+v", raw, l)
		}
	})
}

func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(entry(0, "sshd", "text", now)))
	f.Add([]byte(`{"MESSAGE":[255,0,1],"SYSLOG_IDENTIFIER":"sshd","_UID":"0","__REALTIME_TIMESTAMP":"1"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, l := range linesOf(entriesOf(raw), accounts.Names{}) {
			if l.Text == "" || l.By != "" && (l.Doubtful || !slices.Contains(byUsers, l.Program)) {
				t.Errorf("%+v", l)
			}
		}
	})
}

// record makes a record of utmp(5) for this machine.
func record(kind int, terminal, user, host string, at time.Time) string {
	size, seconds := 400, 344
	if slices.Contains([]string{"amd64", "386", "arm"}, runtime.GOARCH) {
		size, seconds = 384, 340
	}
	b := make([]byte, size)
	binary.NativeEndian.PutUint16(b, uint16(kind))
	copy(b[8:40], terminal)
	copy(b[44:76], user)
	copy(b[76:332], host)
	binary.NativeEndian.PutUint32(b[seconds:], uint32(at.Unix()))
	return string(b)
}

func TestLoginsEndWithTheirTerminalOrTheMachine(t *testing.T) {
	hour := func(h int) time.Time { return time.Unix(now.Unix(), 0).Add(time.Duration(h) * time.Hour) }
	root := testenv.Plant(t, map[string]string{
		"var/log/wtmp.1": record(7, "pts/0", "before", "192.0.2.1", hour(-90)),
		"var/log/wtmp": record(2, "~", "reboot", "6.1.0", hour(-80)) + record(7, "pts/0", "mira", "198.51.100.7", hour(-9)) + record(8, "pts/0", "", "", hour(-8)) +
			record(7, "tty1", "eve", "", hour(-7)) + record(66, "", "", "", hour(0)) + "cut off",
	})
	got, notes, err := New(root, nil, func() time.Time { return now }).Past(t.Context())
	want := []logins.Record{
		{User: "eve", Terminal: "tty1", At: hour(-7), Open: true},
		{User: "mira", Terminal: "pts/0", From: netip.MustParseAddr("198.51.100.7"), At: hour(-9), Until: hour(-8)},
		{User: "before", Terminal: "pts/0", From: netip.MustParseAddr("192.0.2.1"), At: hour(-90), Until: hour(-80)},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || err != nil || len(notes) != 1 || !strings.Contains(notes[0].Reason, "damaged") {
		t.Errorf("%v %v %s", err, notes, diff)
	}
}

// Records of failed logins are rotated each month.
func TestFailedLoginsThatWereRotatedAreRead(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"var/log/btmp": record(6, "ssh:notty", "two", "198.51.100.7", now), "var/log/btmp.1": record(6, "ssh:notty", "one", "198.51.100.7", now), "var/log/btmp.2": record(6, "ssh:notty", "no", "198.51.100.7", now),
	})
	for name, at := range map[string]time.Time{"btmp.1": now.Add(-time.Minute), "btmp.2": now.Add(-2 * time.Hour)} {
		if err := os.Chtimes(filepath.Join(root, "var/log", name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	r := New(root, nil, func() time.Time { return now })
	log, err := r.Log(t.Context(), now.Add(-time.Hour))
	if err != nil || len(log.Events) != 2 || log.Events[0].User != "one" || log.Events[1].User != "two" || !log.From.IsZero() || len(log.Notes) != 0 {
		t.Errorf("%v, %+v", err, log)
	}
	if lately, err := r.Lately(t.Context(), now.Add(-time.Hour)); err != nil || lately.Failures != 2 {
		t.Errorf("%v, %+v", err, lately)
	}
}

func TestDatabasesOfLoginsAreSaidNotToBeRead(t *testing.T) {
	for file, want := range map[string]string{"var/lib/wtmpdb/wtmp.db": "wtmp.db", "var/lib/lastlog/lastlog2.db": "lastlog2.db", "etc/none": "keeps no records"} {
		got, notes, err := New(testenv.Plant(t, map[string]string{file: "SQLite"}), nil, nil).Past(t.Context())
		if err != nil || len(got) != 0 || len(notes) != 1 || !strings.Contains(notes[0].Reason, want) {
			t.Errorf("%s: %v, %v, %v", file, got, notes, err)
		}
	}
}

func TestBtmpIsTheLastResort(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/log/btmp": record(6, "ssh:notty", "root", "198.51.100.7", now) + record(6, "tty1", "mira", "attacker.example.net", now)})
	log, err := New(root, nil, func() time.Time { return now }).Log(t.Context(), now)
	if err != nil || log.Name != "/var/log/btmp" || len(log.Events) != 2 || log.Events[0].Service != "ssh" || log.Events[0].From.String() != "198.51.100.7" || log.Events[1].From.IsValid() {
		t.Errorf("%v, %+v", err, log)
	}
}

func TestAccountsAndTheirKeys(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKLXODIb6PZbd4uSCHtNdRxxqkKGLwIOSz51efNsTY2Z mira@laptop\n"
	root := testenv.Plant(t, map[string]string{
		"etc/passwd":                     "root:x:0:0::/root:/bin/sh\nmira:x:1000:27::/home/mira:/bin/sh\neve:x:1001:1001::/home/eve:/bin/sh\nzed:x:1002:1002::/home/zed:/bin/sh\nann:x:1003:1003::/home/ann:/bin/sh\n",
		"etc/group":                      "sudo:x:27:eve\nzed:x:1002:\n",
		"etc/shadow":                     "mira:*:20000:0:99999:7:::\n",
		"home/mira/.ssh/authorized_keys": key,
		"home/ann/.ssh/authorized_keys":  strings.Repeat(key, 201),
		"home/eve/.ssh":                  "a file",
	})
	// What is no directory has no keys, for sshd either, and nothing of it is read.
	if err := os.Symlink("/etc/shadow", filepath.Join(root, "home/zed")); err != nil {
		t.Fatal(err)
	}
	list, notes, err := New(root, nil, nil).Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range list {
		got = append(got, fmt.Sprint(a.Name, " admin ", a.Admin, " keys ", len(a.Keys), " unread ", a.KeysUnread))
	}
	want := []string{"root admin true keys 0 unread false", "mira admin true keys 1 unread false", "eve admin true keys 0 unread false", "zed admin false keys 0 unread false", "ann admin false keys 200 unread true"}
	if diff := cmp.Diff(want, got); diff != "" || !list[1].PasswordSet.Equal(time.Unix(20000*86400, 0)) {
		t.Error(diff)
	}
	if !slices.ContainsFunc(notes, func(n answer.Gap) bool {
		return n.Field == "keys.ann" && n.Reason == "/home/ann/.ssh/authorized_keys: keys beyond the first 200: 1"
	}) {
		t.Errorf("%+v", notes)
	}
	if k := list[1].Keys[0]; k.Fingerprint != "SHA256:SGiZyCiyrIS8rDYaheC2Dns/sDA1nsBGTO4aJF9xbNA" || k.File != "/home/mira/.ssh/authorized_keys" || k.Comment != "mira@laptop" {
		t.Errorf("%+v", k)
	}
}
