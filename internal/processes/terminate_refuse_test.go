// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"errors"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func facts(change func(*Facts)) *victim {
	v := killable()
	change(&v.facts[0])
	return v
}

func TestForceLiftsAllRefusalsButThatOfTheKernel(t *testing.T) {
	for _, c := range []struct {
		what    string
		change  func(*Facts)
		message string
		fix     string
	}{
		{"sshd", func(f *Facts) { f.Name, f.UserID = "sshd", 0 }, "people reach this machine through it", "add --force"},
		{"sshd in its unit", func(f *Facts) { f.Name, f.UserID, f.Unit = "sshd", 0, Unit{Name: "ssh.service"} }, "ffmpeg", "--restart-service ssh.service"},
		{"the configuration's", func(f *Facts) { f.Name, f.User = "postgres", "postgres" }, "the configuration protects", "protect.processes"},
		{"an ancestor", func(f *Facts) { f.Name = "claude" }, "an ancestor of this sentinel run, 2 levels up", "another session"},
	} {
		v := facts(c.change)
		if c.what == "an ancestor" {
			v.lineage = []Relative{{99, "sentinel-mcp"}, {4242, "claude"}}
		}
		if c.message == "ffmpeg" {
			c.message = "sshd (PID 4242) must not be ended"
		}
		fails(t, v, Target{}, fault.ProtectedProcess, c.message, c.fix)
		v.closed, v.reads = 0, 0
		if _, _, err := do(t, v, Target{Force: true}); err != nil {
			t.Errorf("%s with force: %v", c.what, err)
		}
	}
	v := facts(func(f *Facts) { f.Kernel, f.Name = true, "kworker/0:1" })
	fails(t, v, Target{Force: true}, fault.ProtectedProcess, "kworker/0:1 (PID 4242) must not be ended: it is a thread of the kernel", "")
}

func TestParentIsCalledByItsName(t *testing.T) {
	v := killable()
	v.lineage = []Relative{{4242, "sudo"}, {99, "bash"}}
	fails(t, v, Target{}, fault.ProtectedProcess, "it is the parent of this sentinel run", "another session")
}

// What cannot be seen might be the way in.
func TestLineageThatCannotBeReadRefuses(t *testing.T) {
	v := killable()
	v.lineageErr = errTable
	fails(t, v, Target{}, fault.Unavailable, "The ancestors of this sentinel run cannot be read", "")
}

// A process becomes what must not be ended between the plan and the signal.
func TestRefusalsAreAskedAgainBeforeTheSignal(t *testing.T) {
	v := killable()
	daemon := ffmpeg()
	daemon.Name, daemon.UserID = "auditd", 0
	v.facts = append(v.facts, daemon)
	fails(t, v, Target{}, fault.ProtectedProcess, "it guards this machine", "")
}

func TestCriticalProcesses(t *testing.T) {
	for _, c := range []struct {
		what   string
		facts  Facts
		system bool // its file
		want   bool
	}{
		{"sshd of root", Facts{Name: "sshd", Executable: "/usr/sbin/sshd"}, true, true},
		{"sshd by its program", Facts{Name: "listener", Executable: "/usr/sbin/sshd"}, true, true},
		{"an sshd that a user started", Facts{Name: "sshd", UserID: 1000, Executable: "/usr/sbin/sshd", Parent: Relative{2, "bash"}}, true, false},
		{"an sshd below a user's own", Facts{Name: "sshd", UserID: 1000, Executable: "/usr/sbin/sshd", Parent: Relative{3, "sshd"}}, true, false},
		{"sshd of a user's session", Facts{Name: "sshd", UserID: 1000, Executable: "/usr/sbin/sshd", Parent: Relative{4, "sshd"}}, true, true},
		{"a newer one of a user's session", Facts{Name: "sshd-session", UserID: 1000, Executable: "/usr/lib/openssh/sshd-session", Parent: Relative{5, "sshd-session"}}, true, true},
		{"an sshd whose parent cannot be seen", Facts{Name: "sshd", UserID: 1000, Parent: Relative{6, "sshd"}}, true, true},
		{"an sshd whose parent has ended", Facts{Name: "sshd", UserID: 1000, Parent: Relative{7, "sshd"}}, true, false},
		{"the shell of a session", Facts{Name: "bash", UserID: 1000, Executable: "/bin/bash", Parent: Relative{4, "sshd"}}, true, false},
		{"a VPN that gave up root", Facts{Name: "openvpn", UserID: 65534, User: "nobody", Executable: "/usr/sbin/openvpn"}, true, true},
		{"a VPN of root", Facts{Name: "tailscaled", Executable: "/usr/sbin/tailscaled"}, true, true},
		{"a user's own VPN", Facts{Name: "openvpn", UserID: 1000, User: "bob", Executable: "/usr/sbin/openvpn"}, true, false},
		{"a console", Facts{Name: "agetty", Executable: "/sbin/agetty"}, true, true},
		{"a login at it", Facts{Name: "login", Executable: "/bin/login"}, true, true},
		{"remote desktops", Facts{Name: "xrdp", UserID: 118, User: "xrdp", Executable: "/usr/sbin/xrdp"}, true, true},
		{"their sessions", Facts{Name: "xrdp-sesman", Executable: "/usr/sbin/xrdp-sesman"}, true, true},
		{"polkit", Facts{Name: "polkitd", UserID: 990, User: "polkitd", Executable: "/usr/lib/polkit-1/polkitd"}, true, true},
		{"the log", Facts{Name: "rsyslogd", Executable: "/usr/sbin/rsyslogd"}, true, true},
		{"the log of an account", Facts{Name: "rsyslogd", UserID: 107, User: "syslog", Executable: "/usr/sbin/rsyslogd"}, true, true},
		{"a user's own sshd", Facts{Name: "sshd", UserID: 1000, Executable: "/home/bob/sshd"}, false, false},
		{"an sshd in a container", Facts{Name: "sshd", Executable: "/usr/sbin/sshd", Nested: true}, true, false},
		{"the bus", Facts{Name: "dbus-daemon", UserID: 104, User: "messagebus"}, true, true},
		{"a session's bus", Facts{Name: "dbus-daemon", UserID: 1000, User: "bob"}, true, false},
		{"a bus of another account", Facts{Name: "dbus-daemon", UserID: 33, User: "www-data"}, true, false},
		{"a shim by its cut name", Facts{Name: "containerd-shim"}, true, true},
		{"a name that was cut", Facts{Name: "gdm-session-wor"}, true, true},
		{"a name that was cut and goes on otherwise", Facts{Name: "gdm-session-wor", Executable: "/usr/bin/gdm-session-world"}, true, false},
		{"a compositor", Facts{Name: "gnome-shell", UserID: 1000, Executable: "/usr/bin/gnome-shell"}, true, true},
		{"what calls itself a compositor", Facts{Name: "gnome-shell", UserID: 1000, Executable: "/home/bob/miner"}, false, false},
		{"a user's manager", Facts{Name: "systemd", UserID: 1000, Executable: "/usr/lib/systemd/systemd", Unit: Unit{Name: "user@1000.service"}}, true, true},
		{"journald", Facts{Name: "systemd-journal", Executable: "/usr/lib/systemd/systemd-journald", Unit: Unit{Name: "systemd-journald.service"}}, true, true},
		{"journald outside of its unit", Facts{Name: "systemd-journal", Executable: "/lib/systemd/systemd-journald"}, true, true},
		{"resolved", Facts{Name: "systemd-resolve", UserID: 101, User: "systemd-resolve", Executable: "/usr/lib/systemd/systemd-resolved"}, true, true},
		{"udevd", Facts{Name: "systemd-udevd", Executable: "/usr/bin/udevadm", Unit: Unit{Name: "systemd-udevd.service"}}, true, true},
		{"a worker of udevd", Facts{Name: "(udev-worker)", Executable: "/usr/bin/udevadm", Unit: Unit{Name: "systemd-udevd.service"}}, true, true},
		{"what udevd runs", Facts{Name: "hang", Executable: "/bin/sh", Unit: Unit{Name: "systemd-udevd.service"}}, true, false},
		{"a tool of systemd", Facts{Name: "systemd-inhibit", Executable: "/usr/bin/systemd-inhibit", Unit: Unit{Name: "session-3.scope"}}, true, false},
		{"a user's own logind", Facts{Name: "systemd-logind", UserID: 1000, User: "bob", Executable: "/home/bob/lib/systemd/systemd-logind"}, false, false},
		{"a user's own unit", Facts{Name: "systemd-x", UserID: 1000, User: "bob", Executable: "/tmp/systemd-x", Unit: Unit{Name: "systemd-x.service", User: true}}, false, false},
		{"a tool in a unit of root's own", Facts{Name: "systemd-run", Executable: "/usr/bin/systemd-run", Unit: Unit{Name: "systemd-x.service", User: true}}, true, false},
		{"anything else of root", Facts{Name: "nginx", Executable: "/usr/sbin/nginx"}, true, false},
	} {
		v := killable()
		v.systemFile = c.system
		v.facts[0] = c.facts
		v.parents = map[int]Pinned{
			2: facts(func(f *Facts) { f.Name, f.UserID = "bash", 1000 }), 3: facts(func(f *Facts) { f.Name, f.UserID = "sshd", 1000 }),
			4: facts(func(f *Facts) { f.Name, f.UserID = "sshd", 0 }), 5: facts(func(f *Facts) { f.Name, f.UserID = "sshd-session", 0 }),
			6: &victim{facts: []Facts{{}}, factsErr: errTable}, 7: &victim{facts: []Facts{{}}, factsErr: ErrNoProcess},
		}
		_, _, err := do(t, v, Target{})
		var known *fault.Error
		if refused := errors.As(err, &known) && known.Code == fault.ProtectedProcess; refused != c.want || err != nil && !refused {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// The file of a program may lie on a disk that does not answer. What is not
// known is not ended, and soon.
func TestDeadDiskDoesNotHoldUpARefusal(t *testing.T) {
	v := killable()
	v.diskHangs = true
	v.facts[0].Name = "sway"
	if _, took, err := do(t, v, Target{}); fault.From(err).Code != fault.ProtectedProcess || took != managerPeriod {
		t.Errorf("%v after %v", err, took)
	}
}

func TestRulesNameEveryProgramOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range criticalRules {
		if rule.why == "" || len(rule.names) == 0 {
			t.Errorf("%+v says nothing", rule)
		}
		for _, name := range rule.names {
			if seen[name] || name == "" {
				t.Errorf("%q is there twice", name)
			}
			seen[name] = true
		}
	}
}

func TestRestartIsForetoldAsSystemdDoes(t *testing.T) {
	yes, no := "yes", "no"
	const may = "may"
	for _, c := range []struct {
		policy     string
		kill, term string
	}{
		{"no", no, no},
		{"always", yes, yes},
		{"on-success", no, may},
		{"on-failure", yes, may},
		{"on-abnormal", yes, no},
		{"on-abort", yes, no},
		{"on-watchdog", no, no},
		{"on-tuesdays", may, may},
	} {
		for s, want := range map[Signal]string{SignalKill: c.kill, SignalTerm: c.term} {
			v := killable()
			v.endsBy, v.policy = s, RestartPolicy{c.policy, 4242}
			v.facts[0].Unit.Name = "x.service"
			got, _, err := do(t, v, Target{Graceful: true})
			if said := told(got); err != nil || said != want || (want == no) != (got.RestartNote == "") {
				t.Errorf("Restart=%s after %s: %s %q, %v", c.policy, s, said, got.RestartNote, err)
			}
		}
	}
}

func told(d Terminated) string {
	switch {
	case d.WillRestart == nil:
		return "may"
	case *d.WillRestart:
		return "yes"
	default:
		return "no"
	}
}

func TestRestartThatIsNotSureIsLeftOpen(t *testing.T) {
	always := RestartPolicy{"always", 4242}
	for _, c := range []struct {
		unit   Unit
		policy RestartPolicy
		err    error
		want   string
	}{
		{Unit{}, always, nil, ""},
		{Unit{Name: "session-3.scope"}, always, nil, ""},
		{Unit{Name: "x.service", User: true}, always, nil, "x.service is run by the service manager of the user, which may start it again."},
		{Unit{Name: "x.service"}, always, errTable, "x.service may start it again: the service manager did not say."},
		{Unit{Name: "x.service"}, RestartPolicy{"always", 0}, nil, "x.service has no main process, and may start this one again."},
		{Unit{Name: "x.service"}, RestartPolicy{"always", 17}, nil, "It belongs to x.service, whose main process may start another; to restart the whole service, use restart_service."},
	} {
		v := killable()
		v.facts[0].Unit, v.policy, v.policyErr = c.unit, c.policy, c.err
		got, _, err := do(t, v, Target{})
		if err != nil || got.WillRestart != nil || got.RestartNote != c.want || got.Unit != c.unit.Name {
			t.Errorf("%+v: %+v, %v", c.unit, got, err)
		}
	}
}

func TestServiceManagerThatHangsIsNotWaitedFor(t *testing.T) {
	v := killable()
	v.managerHangs = true
	v.facts[0].Unit.Name = "x.service"
	if got, took, err := do(t, v, Target{}); err != nil || took != managerPeriod || got.WillRestart != nil || took > time.Second {
		t.Errorf("%+v, %v after %v", got, err, took)
	}
}

func TestRulesOfMacOSNameEveryProgramOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range macRules {
		if rule.why == "" || len(rule.names) == 0 || rule.desktop {
			t.Errorf("%+v", rule)
		}
		for _, name := range rule.names {
			if seen[name] {
				t.Errorf("%s has two rules", name)
			}
			seen[name] = true
		}
	}
}

// Names of one system mean nothing on the other.
func TestRulesAreThoseOfTheSystem(t *testing.T) {
	for _, c := range []struct {
		what  string
		facts Facts
		want  bool
	}{
		{"a program of Apple", Facts{Name: "logd", Executable: "/usr/libexec/logd", Mac: true}, true},
		{"one that runs as an account", Facts{Name: "WindowServer", UserID: 88, Executable: "/System/Library/WindowServer", Mac: true}, true},
		{"the scanner of programs", Facts{Name: "XprotectService", UserID: 501, Executable: "/System/Library/PrivateFrameworks/XprotectFramework.framework/Versions/A/XPCServices/XprotectService.xpc/Contents/MacOS/XprotectService", Mac: true}, true},
		{"a VPN of root", Facts{Name: "mullvad-daemon", Executable: "/Applications/Mullvad VPN.app/Contents/Resources/mullvad-daemon", Mac: true}, true},
		{"that name of a person", Facts{Name: "mullvad-daemon", UserID: 501, Executable: "/Users/ana/mullvad-daemon", Mac: true}, false},
		{"the keeper of sessions", Facts{Name: "logind", Executable: "/System/Library/CoreServices/logind", Mac: true}, true},
		{"that name on Linux", Facts{Name: "logd", Executable: "/usr/libexec/logd"}, false},
		{"a name of Linux on a Mac", Facts{Name: "polkitd", Executable: "/usr/lib/polkit-1/polkitd", Mac: true}, false},
		{"an SSH server on a Mac", Facts{Name: "sshd", Executable: "/usr/sbin/sshd", Mac: true}, true},
	} {
		v := killable()
		v.systemFile, v.facts[0] = true, c.facts
		_, _, err := do(t, v, Target{})
		if refused := err != nil && fault.From(err).Code == fault.ProtectedProcess; refused != c.want || err != nil && !refused {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	v := facts(func(f *Facts) {
		f.Name, f.Executable, f.Mac, f.Unit = "logd", "/usr/libexec/logd", true, Unit{Name: "com.apple.logd", Job: true}
	})
	v.systemFile = true
	fails(t, v, Target{}, fault.ProtectedProcess, "keeps the record", "--restart-service system/com.apple.logd")
}
