// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/logs"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/journald"
	"sentinel/platform/linux/procfs"
)

// noon is now in these tests.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// withoutJournal is a machine with files of syslog alone. Each name of files has the hour of the 4th of
// March at which it was last written to after an @.
func withoutJournal(t *testing.T, files map[string]string) *Source {
	t.Helper()
	planted := map[string]string{"proc/sys/kernel/hostname": "web1\n"}
	for name, content := range files {
		path, _, _ := strings.Cut(name, "@")
		planted[path] = content
	}
	root := testenv.Plant(t, planted)
	for name := range files {
		path, hour, _ := strings.Cut(name, "@")
		written := noon
		if h, err := time.ParseDuration(hour + "h"); err == nil {
			written = noon.Add(h - 12*time.Hour)
		}
		if err := os.Chtimes(filepath.Join(root, path), written, written); err != nil {
			t.Fatal(err)
		}
	}
	return &Source{Root: root, Runner: &replay.Sequence{}}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// all selects the whole day up to noon.
var all = logs.Selection{Since: noon.Add(-12 * time.Hour), Until: noon, Priority: logs.NoPriority}

func unit(name string) logs.Selection {
	s := all
	s.Unit = name
	return s
}

func read(t *testing.T, s *Source, selection logs.Selection) (lines, gaps []string, c logs.Coverage) {
	t.Helper()
	testenv.HangGuard(t)
	c, err := s.Read(t.Context(), selection, func(e logs.Entry) bool {
		lines = append(lines, fmt.Sprintf("%s %d %s|%s %d|%s", e.Time.UTC().Format("15:04:05"), e.Priority, e.Unit, e.Program, e.PID, e.Text))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.Gaps {
		gaps = append(gaps, g.Log+": "+g.Why)
	}
	return lines, gaps, c
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestFilesAreReadFromTheNewestBack(t *testing.T) {
	s := withoutJournal(t, map[string]string{
		"var/log/syslog": "Mar  4 11:00:00 web1 app[7]: eleven\n    at line 5\nMar  4 11:30:00 web1 kernel: half\n", "var/log/syslog.1@10": "Mar  4 09:00:00 web1 app: nine\nMar  4 10:00:00 web1 app: ten\n",
		"var/log/syslog.2.gz@8": packed(t, "Mar  4 07:00:00 web1 app: seven\n  more\nMar  4 08:00:00 web1 app: eight\n"), "var/log/syslog.old@8": "no\n", "var/log/syslogd@8": "no\n",
		"var/log/auth.log": "2026-03-04T11:15:00+00:00 web1 sshd[9]: Failed password\n",
	})
	lines, gaps, c := read(t, s, all)
	same(t, "lines", []string{
		"11:30:00 -1 |kernel 0|half", "11:00:00 -1 |app 7|    at line 5", "11:00:00 -1 |app 7|eleven", "10:00:00 -1 |app 0|ten", "09:00:00 -1 |app 0|nine",
		"07:00:00 -1 |app 0|seven", "07:00:00 -1 |app 0|  more", "08:00:00 -1 |app 0|eight", "11:15:00 -1 |sshd 9|Failed password",
	}, lines)
	same(t, "gaps", []string{
		"/var/log/syslog: it begins at 2026-03-04T07:00:00Z: what was before was rotated away, or never written",
		"/var/log/auth.log: it begins at 2026-03-04T11:15:00Z: what was before was rotated away, or never written",
	}, gaps)
	if len(c.Logs) != 2 || c.Logs[0].Entries != 8 || c.Logs[0].Stopped || c.Logs[0].Oldest != "2026-03-04T07:00:00Z" {
		t.Errorf("%+v", c.Logs)
	}
	recent := all
	recent.Since = noon.Add(-45 * time.Minute)
	lines, gaps, _ = read(t, s, recent)
	same(t, "lines of 45 minutes", []string{"11:30:00 -1 |kernel 0|half", "11:15:00 -1 |sshd 9|Failed password"}, lines)
	same(t, "gaps", nil, gaps)
}

func TestLinesOfOneServiceInALogOfAll(t *testing.T) {
	s := withoutJournal(t, map[string]string{"var/log/messages": strings.Join([]string{
		"Mar  4 11:00:00 web1 sshd[9]: a", "Mar  4 11:00:01 web1 sshd-session[9]: b", "Mar  4 11:00:02 web1 app: ssh is down", "Mar  4 11:00:03 web1 systemd[1]: Started ssh.service - OpenBSD", "Mar  4 11:00:04 web1 systemd[1]: Started x.service", "",
	}, "\n")})
	lines, _, _ := read(t, s, unit("ssh.service"))
	same(t, "lines", []string{"11:00:03 -1 |systemd 1|Started ssh.service - OpenBSD", "11:00:01 -1 |sshd-session 9|b", "11:00:00 -1 |sshd 9|a"}, lines)
}

func TestServicesHaveFilesOfTheirOwn(t *testing.T) {
	s := withoutJournal(t, map[string]string{
		"var/log/syslog": "", "var/log/nginx/error.log": "2026/03/04 11:00:00 [error] 7#7: *1 no\n", "var/log/nginx/shop-access.log": `203.0.113.7 - - [04/Mar/2026:11:01:00 +0000] "GET /?a=1 HTTP/1.1" 500 5 "-" "-"` + "\n",
		"var/log/nginx/notes.txt": "2026/03/04 11:00:00 [error] secret\n", "var/log/postgresql/postgresql-15-main.log": "2026-03-04 11:02:00.000 UTC [8] FATAL:  no\n",
		"var/log/mysql/error.log": "2026-03-04T11:03:00Z 0 [ERROR] [MY-1] [Server] no\n", "var/log/apache2/error.log": "[Wed Mar 04 11:04:00.000000 2026] [core:warn] [pid 5] no\n",
	})
	for name, want := range map[string][]string{
		"nginx.service":              {"11:00:00 3 nginx.service| 7|*1 no", `11:01:00 3 nginx.service|access 500 0|GET / "?a=1" HTTP/1.1 from 203.0.113.7`},
		"postgresql@15-main.service": {"11:02:00 3 postgresql@15-main.service| 8|FATAL:  no"},
		"mysql.service":              {"11:03:00 3 mysql.service| 0|[MY-1] [Server] no"},
		"apache2.service":            {"11:04:00 4 apache2.service| 5|no"},
		"other.service":              nil,
	} {
		lines, _, _ := read(t, s, unit(name))
		same(t, name, want, lines)
	}
	worst := unit("nginx.service")
	worst.Priority = 2
	if lines, _, _ := read(t, s, worst); lines != nil {
		t.Errorf("%q", lines)
	}
}

// Whoever may write into the folder of a service leads root nowhere, and keeps it waiting for nothing.
func TestWhatIsNoLogIsNotReadAsOne(t *testing.T) {
	s := withoutJournal(t, map[string]string{"etc/shadow": "root:x\n", "var/log/syslog": "Mar  4 11:00:00 web1 app: x\n", "var/log/nginx/error.log": ""})
	dir := filepath.Join(s.Root, "var/log/nginx")
	for _, err := range []error{
		os.Symlink("../../../etc/shadow", filepath.Join(dir, "a.log")), os.Symlink("error.log", filepath.Join(dir, "b.log")), syscall.Mkfifo(filepath.Join(dir, "c.log"), 0o644),
		os.Mkdir(filepath.Join(dir, "d.log"), 0o755), os.WriteFile(filepath.Join(dir, "error.log.1.xz"), []byte("x"), 0o644), os.WriteFile(filepath.Join(dir, "error.log.2.gz"), []byte("no gzip"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lines, gaps, c := read(t, s, unit("nginx.service"))
	if len(lines) != 0 || !c.Incomplete {
		t.Errorf("%q, %+v", lines, c)
	}
	text := strings.Join(gaps, "\n")
	for _, want := range []string{"/a.log: a.log: not a regular file", "/b.log: b.log: not a regular file", "/c.log: c.log: not a regular file", "/d.log: d.log: not a regular file", "error.log.1.xz: it is compressed", "error.log.2.gz: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	s := withoutJournal(t, map[string]string{"var/log/syslog": "no time\nMar  4 11:00:00 web1 app: own\nMar  4 11:00:00 db1.example app: other\n<11>Mar  4 11:00:01 WEB1.example app: bad\n\x00\xff\x1b]0;x\n"})
	worst := all
	worst.Priority = 3
	lines, gaps, _ := read(t, s, worst)
	same(t, "lines", []string{"11:00:01 3 |app 0|\x00\xff\x1b]0;x", "11:00:01 3 |app 0|bad"}, lines)
	text := strings.Join(gaps, "\n")
	for _, want := range []string{"1 lines have no priority recorded", "1 lines are of other machines", "1 lines without a time"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestWhoMayNotReadAFileIsTold(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root plays the user")
	s := withoutJournal(t, map[string]string{"var/log/syslog": "Mar  4 11:00:00 web1 app: x\n"})
	if got := reason(&os.PathError{Op: "open", Path: s.Root, Err: syscall.EACCES}); got != "not readable without root or the group adm" {
		t.Error(got)
	}
}

func TestAMachineWithoutLogs(t *testing.T) {
	lines, gaps, c := read(t, &Source{Root: testenv.Plant(t, map[string]string{"var/log/": ""}), Runner: &replay.Sequence{}}, all)
	if len(lines)+len(c.Logs) != 0 || len(gaps) != 1 || !strings.Contains(gaps[0], "keeps none") || !c.Incomplete {
		t.Errorf("%q, %q, %+v", lines, gaps, c)
	}
}

const ownID = "0123456789abcdef0123456789abcdef"

// withJournal is a machine whose journalctl prints what it is given, after the user IDs of those who wrote, which
// are not of users.
func withJournal(t *testing.T, results ...sysexec.Result) *Source {
	return &Source{
		Root:   testenv.Plant(t, map[string]string{"etc/machine-id": ownID, "var/log/journal/" + ownID + "/": "", "var/log/syslog": "Mar  4 11:00:00 web1 app: twice\n"}),
		Runner: &replay.Sequence{Results: append([]sysexec.Result{{Stdout: []byte("0\n33\n")}}, results...)},
	}
}

const journalLine = `{"__REALTIME_TIMESTAMP":"1772622000000000","MESSAGE":"hello","_SYSTEMD_UNIT":"a.service","PRIORITY":"6","_BOOT_ID":"x"}` + "\n"

func TestTheJournalComesBeforeSyslog(t *testing.T) {
	s := withJournal(t, sysexec.Result{Stdout: []byte(journalLine)}, sysexec.Result{Stdout: []byte(strings.Replace(journalLine, "22000", "17000", 1))})
	lines, gaps, c := read(t, s, all)
	same(t, "lines", []string{"11:00:00 6 a.service| 0|hello"}, lines)
	same(t, "gaps", []string{
		"/var/log/syslog: it begins at 2026-03-04T11:00:00Z: what was before was rotated away, or never written",
		"journal: it begins at 2026-03-04T09:36:40Z: what was before was rotated away, or never written",
	}, gaps)
	if len(c.Logs) != 2 || c.Logs[1].Entries != 0 || c.Logs[0].Oldest != "2026-03-04T09:36:40Z" {
		t.Errorf("%+v", c.Logs)
	}
}

// Whose a line is the kernel tells, whatever the unit: a job of cron stays in cron.service on Debian.
func TestALineIsOfTheUserWhoWroteIt(t *testing.T) {
	wrote := map[string]bool{
		"0": false, "33": false, "999": false, "65534": false, "61184": false, "65519": false, "": false,
		"1500": true, "100001": true, "62000": true, "60578": true, "65520": true, "600000": true,
	}
	var lines []byte
	for uid := range wrote {
		lines = append(lines, strings.Replace(strings.Replace(journalLine, "hello", uid, 1), `"PRIORITY"`, `"_UID":"`+uid+`","PRIORITY"`, 1)...)
	}
	s := withJournal(t, sysexec.Result{Stdout: lines}, sysexec.Result{Stdout: []byte(journalLine)})
	for name, text := range map[string]string{"passwd": "mallory:x:1500:1500::/:/bin/sh\nodd:x:62000:62000::/:/bin/sh\n", "subuid": "mallory:100000:65536\n"} {
		if err := os.WriteFile(filepath.Join(s.Root, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	if _, err := s.Read(t.Context(), all, func(e logs.Entry) bool {
		got[string(e.Text)] = e.User
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wrote, got); diff != "" {
		t.Error(diff)
	}
}

// A set-user-ID program, such as sudo, writes as root what a user has it say.
func TestALineOfRootIsOfTheUserWhoHadItWritten(t *testing.T) {
	wrote := map[string]bool{
		`"_UID":"0"`: false, `"_UID":"0","_AUDIT_LOGINUID":"0","_SYSTEMD_OWNER_UID":"0"`: false, `"_UID":"0","_AUDIT_LOGINUID":"4294967295"`: false, `"_UID":"0","_AUDIT_LOGINUID":"33"`: false,
		`"_UID":"0","_AUDIT_LOGINUID":"1500"`: true, `"_UID":"0","_SYSTEMD_OWNER_UID":"1500"`: true, `"_UID":"0","_AUDIT_LOGINUID":"0","_SYSTEMD_OWNER_UID":"1500"`: true,
		`"_UID":"33","_AUDIT_LOGINUID":"1500"`: false, `"_AUDIT_LOGINUID":"1500"`: false,
	}
	var lines []byte
	for fields := range wrote {
		lines = append(lines, strings.Replace(strings.Replace(journalLine, "hello", strings.ReplaceAll(fields, `"`, "|"), 1), `"PRIORITY"`, fields+`,"PRIORITY"`, 1)...)
	}
	s := withJournal(t, sysexec.Result{Stdout: lines}, sysexec.Result{Stdout: []byte(journalLine)})
	got := map[string]bool{}
	if _, err := s.Read(t.Context(), all, func(e logs.Entry) bool {
		got[strings.ReplaceAll(string(e.Text), "|", `"`)] = e.User
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wrote, got); diff != "" {
		t.Error(diff)
	}
	if ran := s.Runner.(*replay.Sequence).Ran[1]; !strings.Contains(ran, ",_UID,_AUDIT_LOGINUID,_SYSTEMD_OWNER_UID,") {
		t.Errorf("asked for no more than %s", ran)
	}
}

// Where users' entries are read apart, what a program of root's wrote for one is among the system's.
func TestALineOfRootForAUserIsReadOnce(t *testing.T) {
	p := &pass{accounts: procfs.New(t.TempDir()), ofUsers: []int{1500}}
	for e, want := range map[*journald.Entry][3]bool{ // whether it is of a user, and of which part
		{UID: 0}:              {false, true, false},
		{UID: 0, Login: 1500}: {true, true, false},
		{UID: 0, Owner: 1500}: {true, true, false},
		{UID: 1500}:           {true, false, true},
	} {
		user, first := p.writer(e, journalLog)
		_, last := p.writer(e, usersLog)
		if got := [3]bool{user, first, last}; got != want {
			t.Errorf("%+v: %v, want %v", *e, got, want)
		}
	}
}

func TestAMessageThatJournalctlLeavesOutIsToldAsThat(t *testing.T) {
	s := withJournal(t, sysexec.Result{Stdout: []byte(strings.Replace(journalLine, `"hello"`, "null", 1) + journalLine)}, sysexec.Result{Stdout: []byte(journalLine)})
	var got []string
	if _, err := s.Read(t.Context(), all, func(e logs.Entry) bool {
		got = append(got, fmt.Sprint(e.TooLong, " ", string(e.Unit), " ", string(e.Text)))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	dump := &journald.Entry{UID: 0, Unit: []byte("systemd-coredump@1-2-0.service"), DumpOf: 33, Dumped: []byte("nginx"), TooLong: true, Message: []byte("(long)")}
	if text := string(said(dump)); text != `Process "nginx" of user 33 dumped core. (long)` {
		t.Error(text)
	}
	same(t, "entries", []string{"true a.service (text of more than 4 KiB, not shown)", "false a.service hello"}, got)
}

func TestADamagedJournalIsAGap(t *testing.T) {
	s := withJournal(t, sysexec.Result{Exit: 1, Stdout: []byte(journalLine), Stderr: []byte("Failed to iterate through journal: Bad message\n")})
	lines, gaps, _ := read(t, s, all)
	if len(lines) != 1 || len(gaps) != 2 || !strings.Contains(gaps[1], "may be damaged, and the 1 entries before that are here") {
		t.Errorf("%q, %q", lines, gaps)
	}
}

// journalctl passes over a file that is damaged.
func TestTheTimeThatADamagedFileHadIsSaid(t *testing.T) {
	s := withJournal(t, sysexec.Result{Stdout: []byte(journalLine)}, sysexec.Result{Stdout: []byte(journalLine)})
	file := filepath.Join(s.Root, "var/log/journal", ownID, "system.journal")
	if err := os.WriteFile(file, []byte("LPKSHHRH, and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, gaps, c := read(t, s, all)
	if want := "journal: entries are missing, or some of them: system.journal is damaged"; !slices.Contains(gaps, want) || !c.Incomplete {
		t.Errorf("%q, %+v", gaps, c)
	}
}

func TestAnEmptyJournalMayBeDamaged(t *testing.T) {
	lines, gaps, c := read(t, withJournal(t, sysexec.Result{}, sysexec.Result{}), all)
	same(t, "lines, which syslog has all the same", []string{"11:00:00 -1 |app 0|twice"}, lines)
	if len(gaps) != 2 || !strings.Contains(gaps[0], "no entry at all") || !c.Incomplete {
		t.Errorf("%q, %+v", gaps, c)
	}
}

func TestAServiceWithoutLinesIsSuggestedAnother(t *testing.T) {
	s := withJournal(t, sysexec.Result{}, sysexec.Result{Stdout: []byte(strings.Replace(journalLine, "1772622", "1772522", 1))}, sysexec.Result{Stdout: []byte("ssh.service\ninit.scope\ncron.service\n")})
	_, gaps, _ := read(t, s, unit("sshd.service"))
	same(t, "gaps", []string{"sshd.service: the journal has no line of it, of any time; similar: ssh"}, gaps)
}

func TestReadingStopsWhereNoMoreIsWanted(t *testing.T) {
	s := withoutJournal(t, map[string]string{"var/log/syslog": strings.Repeat("Mar  4 11:00:00 web1 app: x\n", 100), "var/log/auth.log": "Mar  4 11:00:00 web1 sshd: y\n"})
	n := 0
	c, err := s.Read(t.Context(), all, func(logs.Entry) bool { n++; return n < 10 })
	if err != nil || n != 10 || !c.Logs[0].Stopped || len(c.Logs) != 1 || !slices.ContainsFunc(c.Gaps, func(g logs.Gap) bool { return g.Log == "/var/log/auth.log" }) {
		t.Errorf("%d lines, %+v, %v", n, c, err)
	}
	if _, err := s.Unit("../x"); fault.From(err).Code != fault.InvalidService || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// journalHeader is that of a file of the journal with a first and a last entry.
func journalHeader(first, last time.Time) string {
	b := make([]byte, 256)
	copy(b, "LPKSHHRH")
	binary.LittleEndian.PutUint64(b[184:], uint64(first.UnixMicro()))
	binary.LittleEndian.PutUint64(b[192:], uint64(last.UnixMicro()))
	return string(b)
}

// rsyslog keeps what a journal in memory has lost, and the lines of now a second time.
func TestSyslogTellsWhatTheJournalLacksAndNothingTwice(t *testing.T) {
	begins := time.Unix(1772622000, 0) // 11:00
	plant := func(ends time.Time) *Source {
		s := withoutJournal(t, map[string]string{
			"etc/machine-id": ownID, "run/log/journal/" + ownID + "/system.journal": journalHeader(begins, ends),
			"var/log/syslog":      "Mar  4 10:59:57 web1 app: before\nMar  4 10:59:59 web1 app: hello\nMar  4 11:00:02 web1 app: hello\nMar  4 11:30:00 web1 app: after\n",
			"var/log/syslog.1@10": "Mar  4 09:00:00 web1 app: rotated\n",
		})
		s.Runner = &replay.Sequence{Results: []sysexec.Result{{}, {Stdout: []byte(journalLine)}, {Stdout: []byte(journalLine)}}}
		return s
	}
	begun := "journal: it begins at 2026-03-04T11:00:00Z: it is kept in memory alone, and lost at each boot; it is kept once there is the folder /var/log/journal; files of syslog tell what came before"
	older := "/var/log/syslog: it begins at 2026-03-04T09:00:00Z: what was before was rotated away, or never written"
	lines, gaps, c := read(t, plant(noon.Add(-time.Second)), all)
	same(t, "lines", []string{"11:00:00 6 a.service| 0|hello", "10:59:57 -1 |app 0|before", "09:00:00 -1 |app 0|rotated"}, lines)
	same(t, "gaps", []string{older, begun}, gaps)
	if len(c.Logs) != 2 || c.Logs[0].Oldest != "2026-03-04T11:00:00Z" || c.Logs[1].Name != "/var/log/syslog" || c.Logs[1].Entries != 2 {
		t.Errorf("%+v", c.Logs)
	}
	lines, gaps, _ = read(t, plant(begins), all)
	same(t, "lines where journald only forwards", []string{"11:30:00 -1 |app 0|after", "11:00:00 6 a.service| 0|hello", "10:59:57 -1 |app 0|before", "09:00:00 -1 |app 0|rotated"}, lines)
	same(t, "gaps", []string{"journal: it ends at 2026-03-04T11:00:00Z: what came later is told from files of syslog", older, begun}, gaps)
}

// Whoever asks may have another zone in TZ.
func TestTimesAreThoseOfTheMachine(t *testing.T) {
	t.Setenv("TZ", "America/New_York")
	s := withoutJournal(t, map[string]string{
		"etc/localtime": testenv.TimeZone(3600, "CET"), "var/log/syslog": "Mar  4 11:00:00 web1 app[7]: ten\n",
	})
	lines, _, _ := read(t, s, all)
	same(t, "lines", []string{"10:00:00 -1 |app 7|ten"}, lines)
}
