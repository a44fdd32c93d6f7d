// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// sick are services that fail, each for another reason, and what they need for it.
var sick = map[string]string{
	"cases.target":       "[Unit]\nDescription=Services that fail\n",
	"settings.service":   service("ExecStart=/usr/sbin/sshd -D -e -f /run/broken_config\n"),
	"holder.service":     service("ExecStart=/usr/sbin/sshd -D -e -p 4022\n"),
	"taken.service":      service("ExecStart=/usr/sbin/sshd -D -e -p 4022\n"),
	"absent.service":     service("ExecStart=/usr/bin/no-such-program\n"),
	"app.service":        "[Unit]\nRequires=middle.service\nAfter=middle.service\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=cases.target\n",
	"middle.service":     "[Unit]\nRequires=base.service\nAfter=base.service\n[Service]\nExecStart=/bin/sleep infinity\n",
	"base.service":       "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo the disk is gone; exit 78'\n",
	"memory.service":     service("ExecStart=/bin/sleep infinity\n"),
	"limit.service":      service("LimitFSIZE=4096\nExecStart=/bin/dd if=/dev/zero of=/run/limit.out bs=64k count=1\n"),
	"exits.service":      "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=cases.target\n",
	"startlimit.service": service("Restart=always\nRestartSec=10ms\nExecStart=/bin/sh -c 'echo no license; exit 6'\n"),
	"loops.service":      "[Unit]\nStartLimitIntervalSec=0\n" + service("Restart=always\nRestartSec=300ms\nExecStart=/bin/sh -c 'sleep 0.1; exit 4'\n"),
	"remote.service":     service("ExecStart=/usr/sbin/sshd -D -e -p 4023\n"),
}

// Why a service fails is answered by the tools alone, to an ordinary user.
func TestAnAssistantFindsWhyServicesFail(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	fail(t)
	s := connect(t, "--toolsets", "all")
	for _, c := range []struct{ name, summary, evidence string }{
		{"settings", "it ended with exit status 255", "Bad configuration option: Nonsense"},
		{"taken", `Port 4022, which its log says is in use, is held by "sshd" (PID ` + mainPID(t, "holder") + ")", "Address already in use"},
		{"absent", "its program is missing or cannot be executed (EXEC)", "absent.service"}, // its line is lost where the child ends before the journal has asked whose it is,
		{"app", "base.service failed: it ended with exit status 78 (its configuration is wrong). (through middle.service)", `"path":["middle.service","base.service"]`},
		{"base", "it ended with exit status 78", "the disk is gone"},
		{"memory", "it was killed because memory ran out", `"result":"oom-kill"`},
		{"limit", "SIGXFSZ (it wrote a larger file than its limit allows)", `"signal":"SIGXFSZ"`},
		{"exits", "it ended by itself (exit status 0)", `"active_state":"inactive"`},
		{"startlimit", "systemd has given it up (start limit)", "systemctl reset-failed startlimit.service"},
		{"loops", "loops.service keeps dying: it ended with exit status 4, and systemd starts it again", `"first_restart":"20`},
	} {
		s.T = t
		testenv.WaitAtMost(t, 20*time.Second, c.name+" to be told as it is", func() bool { // one that keeps dying is well for moments at first
			d := inState(t, s, c.name)
			raw := text(t, d)
			service := first(d, "services")
			return service["well"] == false && strings.Contains(service.Text("summary"), c.summary) && strings.Contains(raw, c.evidence) && len(raw) <= 8<<10
		})
	}
	t.Run("all", func(t *testing.T) { s.T = t; unwell(t, s) })
	t.Run("health", func(t *testing.T) { s.T = t; seenByHealth(t, s) })
	t.Run("one that runs", func(t *testing.T) { s.T = t; running(t, s) })
	t.Run("configuration", func(t *testing.T) { s.T = t; testsItsConfiguration(t, s) })
	t.Run("configuration of servers", func(t *testing.T) {
		for _, c := range servers {
			t.Run(c.unit, func(t *testing.T) { s.T = t; refusesToBreak(t, s, c) })
		}
	})
}

// A server is one of Debian, with a line that its configuration must not have and what its own test
// says of it.
type server struct{ unit, command, file, line, says string }

var servers = []server{
	{"nginx", "nginx -t", "/etc/nginx/nginx.conf", "nonsense on;", `unknown directive "nonsense" in /etc/nginx/nginx.conf`},
	{"apache2", "apachectl -t", "/etc/apache2/apache2.conf", "Nonsense on", "Invalid command 'Nonsense'"},
	{"haproxy", "haproxy -c -f /etc/haproxy/haproxy.cfg", "/etc/haproxy/haproxy.cfg", "nonsense on", "unknown keyword 'nonsense'"},
	{"named", "named-checkconf", "/etc/bind/named.conf", "nonsense;", "unknown option 'nonsense'"},
}

// refusesToBreak restarts a real server, and no longer once its configuration is broken.
func refusesToBreak(t *testing.T, s *assistant.Session, c server) {
	do(t, "systemctl", "start", c.unit)
	d := s.Call("", "restart_service", map[string]any{"service": c.unit, "dry_run": true})
	if !strings.Contains(text(t, d), "Its configuration passes: "+c.command+".") {
		t.Errorf("the dry run does not say it: %v", d)
	}
	file, err := os.OpenFile(c.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\n" + c.line + "\n"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	defer do(t, "systemctl", "stop", c.unit) // the next one may want its port
	before := mainPID(t, c.unit)
	d = s.Call("BROKEN_CONFIGURATION", "restart_service", map[string]any{"service": c.unit})
	if !strings.Contains(d.Text("error"), c.says) {
		t.Errorf("the refusal does not name the line: %v", d)
	}
	if after := mainPID(t, c.unit); after != before {
		t.Error("the service was taken down")
	}
}

// inState asks until the service is seen as it is between two lives of a loop.
func inState(t *testing.T, s *assistant.Session, name string) assistant.Document {
	t.Helper()
	var d assistant.Document
	testenv.WaitFor(t, name+" to fail", func() bool {
		d = s.Call("", "get_service_status", map[string]any{"service": name})
		state, _ := first(d, "services")["state"].(map[string]any)
		return state["active_state"] != "active" && state["sub_state"] != "start"
	})
	return d
}

func text(t *testing.T, d assistant.Document) string {
	t.Helper()
	var raw strings.Builder
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		t.Fatal(err)
	}
	return raw.String()
}

// fail lets all of them fail.
func fail(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/run/broken_config", []byte("Nonsense yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, "systemctl", "enable", "--quiet", "app.service", "exits.service")
	do(t, "systemctl", "start", "holder.service", "memory.service", "remote.service")
	listens(t, 4022)
	for _, name := range []string{"cases.target", "settings", "taken", "absent", "limit", "startlimit", "loops"} {
		exec.Command("systemctl", "start", name).Run() // some fail at once
	}
	killForWantOfMemory(t)
	for name, want := range map[string]string{"settings": "failed", "taken": "failed", "absent": "failed", "base": "failed", "memory": "failed", "limit": "failed", "startlimit": "failed", "exits": "inactive", "app": "inactive"} {
		testenv.WaitFor(t, name+" to be "+want, func() bool {
			return strings.TrimSpace(do(t, "systemctl", "show", "--value", "--property=ActiveState", name+".service")) == want
		})
	}
}

func listens(t *testing.T, port int) {
	t.Helper()
	testenv.WaitFor(t, fmt.Sprintf("port %d", port), func() bool {
		return strings.Contains(do(t, "ss", "-Hltn"), fmt.Sprintf(":%d ", port))
	})
}

func mainPID(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(do(t, "systemctl", "show", "--value", "--property=MainPID", name+".service"))
}

// killForWantOfMemory ends memory.service as systemd-oomd does, which marks the control group before
// it kills (src/oom/oomd-util.c): whether the kernel would end it is up to the controllers that the machine
// below this container has left for it.
func killForWantOfMemory(t *testing.T) {
	t.Helper()
	group := strings.TrimSpace(do(t, "systemctl", "show", "--value", "--property=ControlGroup", "memory.service"))
	dir := filepath.Join("/sys/fs/cgroup", group)
	if err := unix.Setxattr(dir, "user.oomd_ooms", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(dir, "user.oomd_kill", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	do(t, "systemctl", "kill", "--signal=KILL", "memory.service")
}

func unwell(t *testing.T, s *assistant.Session) {
	d := s.Call("", "get_service_status", map[string]any{})
	names := map[string]bool{}
	list, _ := d["services"].([]any)
	for _, row := range list {
		service, _ := row.(map[string]any)
		names[assistant.Document(service).Text("name")] = true
	}
	if raw := text(t, d); len(list) != 8 || d["truncated"] != true || len(raw) > 8<<10 {
		t.Errorf("%d of %v services, %d bytes: %s", len(list), d["services_total"], len(raw), raw)
	}
	testenv.WaitFor(t, "the service that keeps dying to have died often", func() bool {
		var all map[string]any
		if err := json.Unmarshal([]byte(do(t, "/usr/local/bin/sentinel", "--service", "--limit", "all", "--json")), &all); err != nil {
			t.Fatal(err)
		}
		list, _ = all["services"].([]any)
		for _, row := range list {
			service, _ := row.(map[string]any)
			names[assistant.Document(service).Text("name")] = true
		}
		return names["loops.service"]
	})
	for _, name := range []string{"settings", "taken", "absent", "app", "base", "memory", "limit", "exits", "startlimit", "loops"} {
		if !names[name+".service"] {
			t.Errorf("%s is not among those that are not well: %v", name, names)
		}
	}
	if names["holder.service"] || names["inside.service"] {
		t.Errorf("what is well is among them: %v", names)
	}
}

func seenByHealth(t *testing.T, s *assistant.Session) {
	var raw string
	testenv.WaitFor(t, "health to see the service that keeps dying", func() bool {
		raw = text(t, s.Call("", "get_system_health", map[string]any{}))
		return strings.Contains(raw, "RESTARTING_UNITS") && strings.Contains(raw, "times since 20")
	})
	for _, want := range []string{`"next":"get_service_status {\"service\":\"loops.service\"}"`, "loops.service (", "FAILED_UNITS"} {
		if !strings.Contains(raw, want) {
			t.Errorf("health lacks %s: %s", want, raw)
		}
	}
}

func running(t *testing.T, s *assistant.Session) {
	service := first(s.Call("", "get_service_status", map[string]any{"service": "holder"}), "services")
	port := first(service, "ports")
	if service["well"] != true || !strings.HasSuffix(port.Text("address"), ":4022") || port.Text("process_name") != "sshd" || service["resources"] == nil || service.Text("since") == "" {
		t.Errorf("%v", service)
	}
	s.Call("SERVICE_NOT_FOUND", "get_service_status", map[string]any{"service": "holdr"})
	s.Call("INVALID_SERVICE", "get_service_status", map[string]any{"service": "../x"})
}

// A service that runs is asked by its own program whether it would come back.
func testsItsConfiguration(t *testing.T, s *assistant.Session) {
	listens(t, 4023)
	before := mainPID(t, "remote")
	dry := s.Call("", "restart_service", map[string]any{"service": "remote", "dry_run": true})
	if !strings.Contains(text(t, dry), "Its configuration passes: sshd -t.") {
		t.Errorf("the dry run does not say it: %v", dry)
	}
	do(t, "sh", "-c", "echo Nonsense yes >> /etc/ssh/sshd_config")
	for _, arguments := range []map[string]any{{"service": "remote", "dry_run": true}, {"service": "remote"}} {
		d := s.Call("BROKEN_CONFIGURATION", "restart_service", arguments)
		if !strings.Contains(d.Text("error"), "/etc/ssh/sshd_config: line ") || !strings.Contains(d.Text("error"), "Bad configuration option: Nonsense") {
			t.Errorf("the refusal does not name the line: %v", d)
		}
	}
	if after := mainPID(t, "remote"); after != before {
		t.Error("the service was taken down")
	}
}
