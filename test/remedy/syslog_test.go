// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// syslogPackages is where .ci/run puts rsyslog with its libraries, as Debian has them.
const syslogPackages = "/usr/local/lib/sentinel-test/rsyslog"

// besideJournald installs rsyslog on a machine that has kept a journal up to now, as administrators do:
// journald hands each line on to it, so that everything is written twice.
func besideJournald(t *testing.T, s *assistant.Session) {
	debs, err := filepath.Glob("/shipped/rsyslog/*.deb")
	if err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, len(debs) > 0, "the packages of rsyslog in "+syslogPackages+", which .ci/run puts there")
	kernelLog(t)
	do(t, "dpkg", append([]string{"--install", "--force-unsafe-io"}, debs...)...)
	t.Run("each line once", func(t *testing.T) { s.T = t; eachLineOnce(t, s) })
	t.Run("lines of the kernel", func(t *testing.T) { s.T = t; linesOfTheKernel(t, s) })
	t.Run("su and login", func(t *testing.T) { s.T = t; suAndLogin(t, s) })
	t.Run("what the journal has lost", func(t *testing.T) { s.T = t; lostByTheJournal(t, s) })
	t.Run("what journald no longer keeps", func(t *testing.T) { s.T = t; onlyForwarded(t, s) })
}

// kernelLog gives journald a log of the kernel, which a container has none of: a pipe that takes records
// as /dev/kmsg has them. /proc/kmsg is one of the container's own, which rsyslog reads.
func kernelLog(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	if err := syscall.Mkfifo("/dev/kmsg", 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile("/dev/kmsg", os.O_RDWR, 0) // whoever opens one end would wait for the other
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	do(t, "systemctl", "restart", "systemd-journald.service")
}

// asks asks get_logs until it counts so many lines, all of them in one pattern, and returns the answer.
func asks(t *testing.T, s *assistant.Session, lines int, arguments map[string]any) assistant.Document {
	t.Helper()
	var d assistant.Document
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("get_logs %v: %s", arguments, text(t, d))
		}
	})
	testenv.WaitFor(t, "get_logs to count the lines", func() bool {
		d = s.Call("", "get_logs", arguments)
		return d["lines_total"] != nil && d.Number("lines_total") == lines
	})
	if d.Number("patterns_total") != 1 || first(d, "patterns").Number("count") != lines {
		t.Errorf("the lines are not one pattern: %v", d)
	}
	return d
}

// holds waits until a file has a text.
func holds(t *testing.T, path, part string) {
	t.Helper()
	testenv.WaitFor(t, path+" to have "+part, func() bool {
		raw, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(raw), part)
	})
}

func eachLineOnce(t *testing.T, s *assistant.Session) {
	do(t, "systemd-run", "--quiet", "--wait", "--unit=shop", "--description=shop", "/bin/sh", "-c", "for i in 1 2 3; do echo \"<3>payment 471$i refused, password=hunter2horse\"; done; echo '<6>payment desk open'")
	holds(t, "/var/log/syslog", "payment 4713 refused, password=hunter2horse")
	for _, arguments := range []map[string]any{
		args("unit", "shop.service", "text", "payment 47"), args("priority", "err", "text", "payment"), args("text", "refused"),
	} {
		d := asks(t, s, 3, arguments)
		raw := text(t, d)
		if first(d, "patterns").Text("priority") != "err" || strings.Contains(raw, "hunter2") || strings.Contains(raw, `"name":"/var/log/syslog","entries":1`) || d.Number("errors_total") != 3 {
			t.Errorf("%v: %s", arguments, raw)
		}
	}
}

func linesOfTheKernel(t *testing.T, s *assistant.Session) {
	const line = "Out of memory: Killed process 4242 (leak)"
	for path, record := range map[string]string{"/dev/kmsg": "3,1,1000,-;" + line + "\n", "/proc/kmsg": "<3>[    0.001000] " + line + "\n"} {
		pipe, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		if _, err := pipe.WriteString(record); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, "/var/log/syslog", line)
	d := asks(t, s, 1, args("unit", "kernel", "text", "Killed process"))
	if row := first(d, "patterns"); row.Text("program") != "kernel" || row.Text("priority") != "err" {
		t.Errorf("%v", row)
	}
}

// suAndLogin lets pat try to become root, and log in at a terminal.
func suAndLogin(t *testing.T, s *assistant.Session) {
	su := exec.Command("setpriv", "--reuid=pat", "--regid=pat", "--init-groups", "--reset-env", "su", "root", "-c", "true")
	su.Stdin = strings.NewReader("wrong\n")
	if out, err := su.CombinedOutput(); err == nil {
		t.Fatalf("pat became root: %s", out)
	}
	login := exec.Command("script", "--quiet", "--return", "--command", "login -f pat", "/dev/null")
	login.Stdin = strings.NewReader("exit\n")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("login: %v: %s", err, out)
	}
	holds(t, "/var/log/auth.log", "login:session): session opened for user pat")
	shows(t, s, step{"get_logins", args("since", "-1h"), "", []string{`"by":["pat"]`, `"services":["su"]`, `"service":"login"`, `"source":"journal"`}})
}

// lostByTheJournal rotates both, and drops what the journal had.
func lostByTheJournal(t *testing.T, s *assistant.Session) {
	do(t, "mv", "/var/log/syslog", "/var/log/syslog.1")
	do(t, "systemctl", "kill", "--signal=HUP", "rsyslog.service")
	testenv.WaitFor(t, "rsyslog to close the old file", func() bool {
		return !strings.Contains(do(t, "ls", "-l", "/proc/"+mainPID(t, "rsyslog")+"/fd"), "/var/log/syslog.1")
	})
	do(t, "journalctl", "--quiet", "--rotate", "--vacuum-time=1s")
	do(t, "logger", "-t", "shop", "payment desk closed")
	holds(t, "/var/log/syslog", "payment desk closed")
	d := asks(t, s, 3, args("since", "-2h", "text", "payment 47"))
	if raw := text(t, d); !strings.Contains(raw, "files of syslog tell what came before") || strings.Contains(raw, "hunter2") {
		t.Errorf("not told from the rotated file: %s", raw)
	}
	asks(t, s, 1, args("since", "-2h", "text", "payment desk closed"))
}

// onlyForwarded has journald keep nothing any more, beside the journal that it has kept.
func onlyForwarded(t *testing.T, s *assistant.Session) {
	put(t, "/etc/systemd/journald.conf.d/none.conf", "[Journal]\nStorage=none\n", 0o644)
	do(t, "systemctl", "restart", "systemd-journald.service")
	for range 3 {
		do(t, "logger", "-t", "shop", "safe emptied")
	}
	holds(t, "/var/log/syslog", "safe emptied")
	shows(t, s, step{"get_logs", args("since", "-1h", "text", "safe emptied"), "", []string{"what came later is told from files of syslog"}})
}
