// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/logs"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

const (
	killed   = "Memory cgroup out of memory: Killed process 7 (%s) total-vm:33496kB, anon-rss:22208kB, file-rss:5308kB, shmem-rss:0kB, UID:1500 pgtables:104kB oom_score_adj:-17"
	segfault = "%s[7]: segfault at 0 ip 00005581ff sp 00007ffe10 error 4 in %s[5581ff000+1000] likely on CPU 3 (core 3, socket 0)"
	trap     = "traps: %s[7] general protection fault ip:5581ff sp:7ffe10 error:0 in %s[5581ff000+1000]"
	oomKill  = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=%[2]s,mems_allowed=0,oom_memcg=/%[2]s,task_memcg=/%[2]s,task=%[1]s,pid=7,uid=1500"
)

var processCases = []struct {
	line string
	uid  int
	kind string
}{
	{fmt.Sprintf(killed, "app"), 1500, fmt.Sprintf(killed, "#")},
	{fmt.Sprintf(killed, ") total-vm:1kB"), 1500, fmt.Sprintf(killed, "#")},
	{fmt.Sprintf(killed, ", UID:0 pgtable"), 1500, fmt.Sprintf(killed, "#")},
	{"Out of memory: Killed process 7 (app) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0", 0, "Out of memory: Killed process 7 (#) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0"},
	{"Out of memory (oom_kill_allocating_task): Killed process 7 (app) total-vm:1kB, anon-rss:2kB", -1, "Out of memory (oom_kill_allocating_task): Killed process 7 (#) total-vm:1kB, anon-rss:2kB"},
	{fmt.Sprintf(segfault, "a b", "lib.so"), -1, "#[7]: segfault at 0 ip 00005581ff sp 00007ffe10 error 4 in #"},
	{"Killed process [7]: segfault at 0 ip 0 sp 0 error 4", -1, "#[7]: segfault at 0 ip 0 sp 0 error 4"},
	{fmt.Sprintf(trap, "app", "x in y"), -1, "traps: #[7] general protection fault ip:5581ff sp:7ffe10 error:0 in #"},
	{fmt.Sprintf(oomKill, ",pid=1,uid=0", "x"), 1500, "oom-kill:constraint=#,pid=7,uid=1500"},
	{"app invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", -1, "# invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"},
	{`audit: type=1326 audit(1772622000.123:42): auid=1000 uid=1500 gid=1500 ses=2 pid=7 comm="uid=0" exe="/x" sig=31`, 1500, ""},
	{`audit: type=1400 audit(1772622000.123:42): apparmor="DENIED" operation="open" profile="p" name="/x" pid=7 comm="uid=0" denied_mask="r" fsuid=1500 ouid=0`, 1500, ""},
	{"audit: type=1403 audit(1.2:3): policy loaded auid=4294967295 ses=1", -1, ""},
	{"sda: I/O error, dev sda, sector 5", -1, ""},
	{"usb 1-1: Product: Killed process 7 (x) total-vm:1kB, anon-rss:1kB, UID:1500 pgtables:1kB oom_score_adj:0", -1, ""},
	{"", -1, ""},
}

func TestLinesOfTheKernelAboutProcesses(t *testing.T) {
	for _, c := range processCases {
		if uid, kind := aboutProcess([]byte(c.line)); uid != c.uid || string(kind) != c.kind {
			t.Errorf("%s\n%d, want %d\n%s\n%s", c.line, uid, c.uid, kind, c.kind)
		}
	}
}

// Whatever the name of a process and of its file, its user and its kind stay the same.
func FuzzAboutProcess(f *testing.F) {
	for _, c := range processCases {
		f.Add(c.line, c.line)
	}
	f.Add("0", "ip:0 sp:0 error:0 in ")
	f.Fuzz(func(t *testing.T, name, file string) {
		name = name[:min(len(name), 15)] // TASK_COMM_LEN
		for form, want := range map[string]int{killed + "%.0s": 1500, oomKill: 1500, segfault: -1, trap: -1} {
			uid, kind := aboutProcess(fmt.Appendf(nil, form, name, file))
			usualUID, usual := aboutProcess(fmt.Appendf(nil, form, "app", "lib.so"))
			if uid != want || usualUID != want || string(kind) != string(usual) || len(kind) == 0 {
				t.Errorf("%q, %q: %d, %q, usually %d, %q", name, file, uid, kind, usualUID, usual)
			}
		}
	})
}

// A user whose processes the kernel kills, under any number of names, hides no error of the system.
func TestProcessesOfAUserThatAreKilledHideNothing(t *testing.T) {
	s := shared(t)
	w := &journalWriter{at: noon.Add(-30 * time.Minute)}
	for range 5 {
		w.add("Device: /dev/sda, FAILED SMART self-check", "_UID=0", "_TRANSPORT=syslog", "PRIORITY=2", "_SYSTEMD_UNIT=smartd.service")
	}
	w.add("backup of the database failed", "_UID=0", "_TRANSPORT=syslog", "PRIORITY=3", "_SYSTEMD_UNIT=backup.service")
	for i := range 600 {
		name := strings.Map(func(r rune) rune { return 'g' + r - '0' }, fmt.Sprint(i%100, rand.Uint32()))
		w.add(fmt.Sprintf(killed, name[:min(len(name), 15)]), "_TRANSPORT=kernel", "PRIORITY=3", "SYSLOG_IDENTIFIER=kernel")
	}
	testenv.Journal(t, filepath.Join(s.Root, "var/log/journal", ownID, "system.journal"), w.String())
	r := lately(t, s)
	var got []string
	for _, p := range r.Patterns {
		got = append(got, fmt.Sprint(p.Count, " ", p.Priority, " ", p.Unit, p.Program))
	}
	same(t, "patterns", []string{"5 crit smartd.service", "1 err backup.service", "600 err kernel"}, got)
	if want := "Memory cgroup out of memory: Killed process # (#) total-vm:#kB, "; !strings.HasPrefix(r.Patterns[2].Pattern, want) {
		t.Error(r.Patterns[2].Pattern)
	}
}

// lately is what get_logs tells of the last 45 minutes.
func lately(t *testing.T, s *Source) *logs.Report {
	t.Helper()
	testenv.HangGuard(t)
	r, err := logs.Read(t.Context(), s, logs.Request{Since: "-45m"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whose process died only systemd-coredump is believed, and what runs as root.
func TestWhoseProcessDied(t *testing.T) {
	dump := `{"__REALTIME_TIMESTAMP":"1772622000000000","MESSAGE":"%s","_SYSTEMD_UNIT":"%s","PRIORITY":"2","_UID":"%d","COREDUMP_UID":"%d"}` + "\n"
	const unit = "systemd-coredump@3-17-0.service"
	s := withJournal(t, sysexec.Result{Stdout: []byte(fmt.Sprintf(dump, "of a user", unit, 0, 1500) + fmt.Sprintf(dump, "of root", unit, 0, 0) + fmt.Sprintf(dump, "by a service", unit, 33, 1500) +
		fmt.Sprintf(dump, "by another of root", "web.service", 0, 1500) + fmt.Sprintf(dump, "by a user", "user@1500.service", 1500, 33))})
	lines, _ := told(t, s, all, 0)
	same(t, "lines", []string{"user: of a user", "of root", "by a service", "by another of root", "user: by a user"}, lines)
}

// fusermount mounts for a user under any name, and systemd tells of each mount.
func TestMountsOfAUserHideNothing(t *testing.T) {
	s := shared(t)
	w := &journalWriter{at: noon.Add(-30 * time.Minute)}
	word := func(i int) string {
		return strings.Map(func(r rune) rune { return 'g' + r - '0' }, fmt.Sprint(i))
	}
	for i := range 300 {
		name, path := `home-mallory-fatal\x2ddisk\x2derror\x2d`+word(i)+".mount", "/home/mallory/fatal-disk-error-"+word(i)
		w.add("Mounted "+name+" - "+path+".", "_PID=1", "_UID=0", "PRIORITY=6", "SYSLOG_IDENTIFIER=systemd", "_TRANSPORT=journal", "UNIT="+name)
		w.add(name+": Deactivated successfully.", "_PID=1", "_UID=0", "PRIORITY=6", "SYSLOG_IDENTIFIER=systemd", "_TRANSPORT=journal", "UNIT="+name)
	}
	for _, name := range []string{"backup", "data"} {
		w.add(name+".mount: Failed with result 'exit-code'.", "_PID=1", "_UID=0", "PRIORITY=4", "SYSLOG_IDENTIFIER=systemd", "_TRANSPORT=journal", "UNIT="+name+".mount")
	}
	w.add("cannot open /etc/app.conf", "_PID=700", "_UID=0", "PRIORITY=6", "_TRANSPORT=stdout", "_SYSTEMD_UNIT=app.service")
	testenv.Journal(t, filepath.Join(s.Root, "var/log/journal", ownID, "system@1.journal"), w.String())
	r := lately(t, s)
	var got []string
	for _, p := range r.Patterns {
		got = append(got, fmt.Sprint(p.Count, " ", p.Unit, " ", p.Pattern))
	}
	same(t, "patterns", []string{
		"1 app.service ", "1 data.mount ", "1 backup.mount ",
		"300 " + r.Patterns[3].Unit + " #.mount: Deactivated successfully.", "300 " + r.Patterns[3].Unit + " Mounted #.mount",
	}, got)
}
