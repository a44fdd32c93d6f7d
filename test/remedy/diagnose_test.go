// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// spool holds the small file systems that services fill.
const spool = "/var/spool/"

// filling are services whose trouble is a file system.
var filling = map[string]string{
	"feeder.service": service("ExecStart=/bin/sh -c 'exec 3>" + spool + "feed/app.log; rm " + spool + "feed/app.log; head -c 6000000 /dev/zero >&3; exec sleep infinity'\n"),
	"queue.service":  service("ExecStart=/bin/sh -c 'for i in $(seq 400); do echo > " + spool + "queue/$i || exit 28; done'\n"),
	"diary.service":  service("ExecStart=/bin/sh -c 'echo dear > /root/diary.txt; exec 3</root/diary.txt 4</etc/hostname; exec sleep infinity'\n"),
	"login.service":  service("ExecStart=/usr/sbin/sshd -D -o UsePAM=no -o PermitRootLogin=no\n"),
}

// A step is one call that leads on, with what its answer must show.
type step struct {
	tool      string
	arguments map[string]any
	fails     string // with this code
	evidence  []string
}

// A trouble is a question that somebody asks, what is the matter, and the calls that lead to it.
type trouble struct {
	question string
	begin    func(t *testing.T, s *assistant.Session)
	steps    func(t *testing.T) []step
}

var troubles = []trouble{
	{"Why does the application not start?", nil, calls(
		step{"get_service_status", args("service", "app"), "", []string{`"path":["middle.service","base.service"]`, "base.service failed: it ended with exit status 78"}},
		step{"get_service_status", args("service", "base"), "", []string{"the disk is gone"}},
	)},
	{"Why can the second server not listen?", nil, func(t *testing.T) []step {
		holder := mainPID(t, "holder")
		return []step{
			{"get_service_status", args("service", "taken"), "", []string{`Port 4022, which its log says is in use, is held by \"sshd\" (PID ` + holder + ")"}},
			{"get_process_details", args("pid", number(t, holder)), "", []string{`"unit":"holder.service"`}},
		}
	}},
	{"Why was the calculation gone in the morning?", nil, calls(
		step{"get_service_status", args("service", "memory"), "", []string{"it was killed because memory ran out"}},
	)},
	{"Why is the page away every few seconds?", nil, calls(
		step{"get_system_health", args(), "", []string{"RESTARTING_UNITS", `get_service_status {\"service\":\"loops.service\"}`}},
		step{"get_service_status", args("service", "loops"), "", []string{"loops.service keeps dying: it ended with exit status 4"}},
		step{"get_logs", args("unit", "loops.service", "since", "-1h"), "", []string{"loops.service: Main process exited, code=exited, status=4"}},
	)},
	{"What fills the disk, where nothing is to be seen?", deletedLog, calls(
		step{"get_disk_usage", args("path", spool+"feed"), "", []string{`"unit":"feeder.service"`, `"path":"` + spool + `feed/app.log"`, `"deleted_open_total":1`, `"size_bytes":8388608`}},
	)},
	{"Why is there no space left on a disk that is empty?", noInodes, calls(
		step{"get_service_status", args("service", "queue"), "", []string{"No space left on device", "it ended with exit status 28"}},
		step{"get_disk_usage", args("path", spool+"queue"), "", []string{`"inodes_used_percent":100`, `"path":"` + spool + `queue"`}},
	)},
	{"Did somebody get in?", guessing, calls(
		step{"get_logins", args("since", "-1h"), "", []string{`"succeeded_after_failures":[{"address":"` + peer + `","failures":6`, `"user":"pat"`, `"method":"password"`}},
	)},
	{"What has been made to start by itself since yesterday?", newTimer, calls(
		step{"get_startup_items", args(), "", []string{`"new_total":2`, "/etc/systemd/system/beat.timer", "/dev/shm/.beat", "program_in_tmp"}},
	)},
	{"Who can log in since yesterday who could not before?", newAccount, calls(
		step{"get_logins", args(), "", []string{`"accounts":["eve"]`, `"user":"eve"`, "SHA256:"}},
	)},
	{"Why does nothing find its server?", deadResolver, calls(
		step{"get_system_health", args(), "", []string{"RESOLVER_SILENT", "The resolver of this machine did not answer: " + peer + ":53 (connection refused)"}},
		step{"get_health_history", args("since", "-1h"), "", []string{"health said: The resolver of this machine did not answer: " + peer + ":53"}},
		step{"dns_lookup", args("name", "example.com"), "UNAVAILABLE", []string{"No name server answers about example.com: " + peer + ":53 connection refused"}},
	)},
	{"Why is every certificate not valid yet?", wrongClock, calls(
		step{"get_system_health", args(), "", []string{"CLOCK_BEHIND", "/var/lib/systemd/timesync/clock"}},
	)},
	{"Is that the mail server?", falseDaemon, func(t *testing.T) []step {
		pid := planted(t)
		return []step{
			{"get_system_health", args(), "", []string{"FALSE_DAEMON", fmt.Sprintf(`get_process_details {\"pid\":%d}`, pid)}},
			{"get_process_details", args("pid", pid), "", []string{"/dev/shm/.beat", `"user":"pat"`}},
		}
	}},
}

func args(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func calls(list ...step) func(*testing.T) []step { return func(*testing.T) []step { return list } }

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Twelve questions are answered to the cause by the tools alone, to an ordinary user: each answer
// has the evidence that leads to the next.
func TestAnAssistantFindsTheCause(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	fail(t)
	cable(t)
	s := connect(t, "--toolsets", "all")
	for _, c := range troubles {
		t.Run(c.question, func(t *testing.T) {
			s.T = t
			if c.begin != nil {
				c.begin(t, s)
			}
			for _, step := range c.steps(t) {
				shows(t, s, step)
			}
		})
	}
	t.Run("but not what they could not list themselves", func(t *testing.T) { s.T = t; withheld(t, s) })
	t.Run("from the journal and from rsyslog", func(t *testing.T) { besideJournald(t, s) })
}

// withheld looks at a process of root with a file open in a directory of root's.
func withheld(t *testing.T, s *assistant.Session) {
	const secret = "/root/diary.txt"
	do(t, "systemctl", "start", "diary.service")
	pid := mainPID(t, "diary")
	testenv.WaitFor(t, "the file to be open", func() bool {
		return strings.Contains(do(t, "/usr/local/bin/sentinel", "--process", pid, "--json"), secret)
	})
	raw := text(t, s.Call("", "get_process_details", args("pid", number(t, pid))))
	if strings.Contains(raw, "diary.txt") || !strings.Contains(raw, "/etc/hostname") || !strings.Contains(raw, `"withheld":1`) {
		t.Errorf("whoever may not list /root is told: %s", raw)
	}
}

// shows asks until the answer has the evidence: what a service does shows a moment later.
func shows(t *testing.T, s *assistant.Session, c step) {
	t.Helper()
	var raw string
	var missing []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %v lacks %q: %s", c.tool, c.arguments, missing, raw)
		}
	})
	testenv.WaitAtMost(t, time.Minute, c.tool+" to show it", func() bool {
		raw = text(t, s.Call(c.fails, c.tool, c.arguments))
		missing = slices.DeleteFunc(slices.Clone(c.evidence), func(want string) bool { return strings.Contains(raw, want) })
		return len(missing) == 0
	})
	if len(raw) > 8<<10 {
		t.Errorf("%s answers with %d bytes", c.tool, len(raw))
	}
}

func mount(t *testing.T, name, options string) {
	t.Helper()
	testenv.RequireIsolated(t)
	if err := os.MkdirAll(spool+name, 0o755); err != nil {
		t.Fatal(err)
	}
	do(t, "mount", "-t", "tmpfs", "-o", options, name, spool+name)
}

func deletedLog(t *testing.T, _ *assistant.Session) {
	mount(t, "feed", "size=8m")
	do(t, "systemctl", "start", "feeder.service")
}

func noInodes(t *testing.T, _ *assistant.Session) {
	mount(t, "queue", "size=8m,nr_inodes=200")
	exec.Command("systemctl", "start", "queue.service").Run() // it fails at once or later
}

// guessing tries passwords of pat from another machine until one is right.
func guessing(t *testing.T, _ *assistant.Session) {
	stdin(t, "pat:correct-horse\n", "chpasswd")
	do(t, "systemctl", "start", "login.service")
	listens(t, 22)
	for _, secret := range []string{"wrong", "wrong", "correct-horse"} {
		ask := filepath.Join(t.TempDir(), "ask")
		put(t, ask, "#!/bin/sh\necho "+secret+"\n", 0o755)
		ssh := exec.Command("nsenter", "--net=/run/netns/peer", "ssh", "-F", "/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			"-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=3", "pat@"+machine, "true")
		ssh.Env = append(os.Environ(), "SSH_ASKPASS="+ask, "SSH_ASKPASS_REQUIRE=force", "DISPLAY=none:0")
		if out, err := ssh.CombinedOutput(); (err == nil) != (secret != "wrong") {
			t.Fatalf("with %s: %v\n%s", secret, err, out)
		}
	}
}

func stdin(t *testing.T, text, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func put(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	testenv.RequireIsolated(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func newTimer(t *testing.T, s *assistant.Session) {
	s.Call("", "get_startup_items", args())
	put(t, "/etc/systemd/system/beat.timer", "[Timer]\nOnCalendar=*:0/5\n[Install]\nWantedBy=timers.target\n", 0o644)
	put(t, "/etc/systemd/system/beat.service", "[Service]\nExecStart=/dev/shm/.beat\n", 0o644)
	do(t, "systemctl", "enable", "--quiet", "beat.timer")
}

func newAccount(t *testing.T, s *assistant.Session) {
	s.Call("", "get_logins", args())
	do(t, "useradd", "--create-home", "eve")
	do(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/run/key")
	key, err := os.ReadFile("/run/key.pub")
	if err != nil {
		t.Fatal(err)
	}
	put(t, "/home/eve/.ssh/authorized_keys", string(key), 0o600)
}

// deadResolver names a machine that does not serve names.
func deadResolver(t *testing.T, _ *assistant.Session) {
	os.Remove("/etc/resolv.conf") // which may be a link
	put(t, "/etc/resolv.conf", "nameserver "+peer+"\noptions timeout:1 attempts:1\n", 0o644)
	do(t, "/usr/local/bin/sentinel", "--record") // as the timer does each minute
}

// wrongClock leaves the mark of a clock that was two hours ahead.
func wrongClock(t *testing.T, _ *assistant.Session) {
	const mark = "/var/lib/systemd/timesync/clock"
	put(t, mark, "", 0o644)
	later := time.Now().Add(2 * time.Hour)
	if err := os.Chtimes(mark, later, later); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(mark) })
}

func falseDaemon(t *testing.T, _ *assistant.Session) {
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	put(t, "/dev/shm/.beat", string(raw), 0o755)
	pat, err := user.Lookup("pat")
	if err != nil {
		t.Fatal(err)
	}
	uid := uint32(number(t, pat.Uid))
	c := &exec.Cmd{Path: "/dev/shm/.beat", Args: []string{"/usr/sbin/sshd", "600"}, SysProcAttr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
}

// planted is the process of the false daemon.
func planted(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range found {
		if to, err := os.Readlink(link); err == nil && to == "/dev/shm/.beat" {
			return number(t, filepath.Base(filepath.Dir(link)))
		}
	}
	t.Fatal("the false daemon does not run")
	return 0
}
