// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

func TestUnitOfAControlGroup(t *testing.T) {
	for path, want := range map[string]processes.Unit{
		"/system.slice/nginx.service":                                              {Name: "nginx.service", Service: true, RestartName: "nginx.service", StopCommand: "systemctl stop nginx.service"},
		"/system.slice/nginx.service/worker":                                       {Name: "nginx.service", Service: true, RestartName: "nginx.service", StopCommand: "systemctl stop nginx.service"},
		"/system.slice/system-getty.slice/getty@tty1.service":                      {Name: "getty@tty1.service", Service: true, RestartName: "getty@tty1.service", StopCommand: "systemctl stop getty@tty1.service"},
		"/system.slice/_cpu.service":                                               {Name: "cpu.service", Service: true, RestartName: "cpu.service", StopCommand: "systemctl stop cpu.service"},
		`/system.slice/srv-a\x2db.mount`:                                           {Name: `srv-a\x2db.mount`},
		"/init.scope":                                                              {Name: "init.scope"},
		"/user.slice/user-1000.slice/session-3.scope":                              {Name: "session-3.scope"},
		"/user.slice/user-1000.slice/user@1000.service/init.scope":                 {Name: "user@1000.service", Service: true, Manager: true, RestartName: "user@1000.service", StopCommand: "systemctl stop user@1000.service"},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/x.service":        {Name: "x.service", User: true, Service: true},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/a.slice/b.scope":  {Name: "b.scope", User: true},
		"/user.slice/user-1000.slice/user@1000.service/nginx.service/ssh.service":  {Name: "nginx.service", User: true, Service: true},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/\x1b[31m.service": {Name: "user@1000.service", Service: true, Manager: true, RestartName: "user@1000.service", StopCommand: "systemctl stop user@1000.service"},
		"/machine.slice/machine-a.scope/payload/system.slice/x.service":            {Name: "machine-a.scope"},
		"/system.slice/docker-0123.scope":                                          {Name: "docker-0123.scope"},
		"/docker/0123":                                                             {},
		"/../../system.slice/nginx.service":                                        {},
		"/":                                                                        {},
		"":                                                                         {},
		"/system.slice":                                                            {},
		"/system.slice/.service":                                                   {},
		"/system.slice/a b.service":                                                {},
		"/system.slice/" + strings.Repeat("a", 248) + ".service":                   {},
	} {
		if got := unitOf(path); got != want {
			t.Errorf("%q: %+v", path, got)
		}
	}
}

func FuzzUnitOf(f *testing.F) {
	f.Add("/system.slice/nginx.service")
	f.Add("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service")
	f.Fuzz(func(t *testing.T, path string) {
		if u := unitOf(path); u.Name != "" && (!unitName(u.Name) || !strings.Contains(path, u.Name)) || u.Name == "" && u.User {
			t.Errorf("%q: %+v", path, u)
		}
	})
}

const phoenix = `[Service]
ExecStart=/bin/sleep 1000
Restart=always
RestartSec=100ms
`

const prevented = `[Service]
ExecStart=/bin/sleep 1000
Restart=always
RestartPreventExitStatus=SIGKILL
`

const mortal = `[Service]
ExecStart=/bin/sleep 1000
`

const workers = `[Service]
ExecStart=/bin/sh -c 'sleep 1000 & sleep 1001 & wait'
Restart=on-failure
`

// others start these services again, which Restart= does not.
var others = map[string]string{
	"upheld.service": mortal, "keeper.service": "[Unit]\nUpholds=upheld.service\n" + mortal,
	"pathed.service": mortal, "pathed.path": "[Path]\nPathExists=/run\n",
	"timed.service": mortal, "timed.timer": "[Timer]\nOnActiveSec=0\nOnUnitInactiveSec=100ms\nAccuracySec=1ms\n",
	"rescued.service": "[Unit]\nOnFailure=rescuer.service\n" + mortal,
	"rescuer.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/systemctl --no-block start rescued.service\n",
}

func TestWhatOtherUnitsStartAgainDoesNotSurelyStayAway(t *testing.T) {
	if !testenv.Booted(t, others) {
		return
	}
	for _, c := range []struct{ unit, start, cause string }{
		{"upheld.service", "keeper.service", "UpheldBy=keeper.service"},
		{"pathed.service", "pathed.path", "TriggeredBy=pathed.path"},
		{"timed.service", "timed.timer", "TriggeredBy=timed.timer"},
		{"rescued.service", "rescued.service", "OnFailure=rescuer.service"},
	} {
		testenv.Systemctl(t, true, "start "+c.start)
		pid := started(t, c.unit)
		got := kill(t, processes.Target{PID: pid})
		if want := c.unit + " may start it again (Restart=no, " + c.cause + ");"; got.WillRestart != nil || !strings.HasPrefix(got.RestartNote, want) {
			t.Errorf("%s: %+v, want %q", c.unit, got, want)
		}
		testenv.WaitFor(t, c.unit+" to run again", func() bool { now := mainPID(t, c.unit); return now != 0 && now != pid })
	}
}

// onTheBus have a name there; a call to that of the first one starts it.
var onTheBus = map[string]string{
	"called.service": mortal + "Type=simple\nBusName=org.example.Called\n[Install]\nAlias=dbus-org.example.Called.service\n",
	"silent.service": mortal + "Type=simple\nBusName=org.example.Silent\n",
	"other.service":  mortal + "Type=simple\nBusName=org.example.Other\n",
}

func TestWhatACallOnTheBusStartsAgainDoesNotSurelyStayAway(t *testing.T) {
	if !testenv.Booted(t, onTheBus) {
		return
	}
	testenv.Systemctl(t, true, "enable --quiet called.service")
	for name, by := range map[string]string{"org.example.Called": "dbus-org.example.Called.service", "org.example.Other": "another.service"} {
		file := "[D-BUS Service]\nName=" + name + "\nExec=/bin/false\nUser=root\nSystemdService=" + by + "\n"
		if err := os.WriteFile("/usr/share/dbus-1/system-services/"+name+".service", []byte(file), 0o644); err != nil { // the bus is no root
			t.Fatal(err)
		}
	}
	testenv.Systemctl(t, true, "start dbus")
	called := started(t, "called.service")
	if got, want := kill(t, processes.Target{PID: called}), "called.service may start it again (Restart=no, BusName=org.example.Called);"; got.WillRestart != nil || !strings.HasPrefix(got.RestartNote, want) {
		t.Errorf("%+v, want %q", got, want)
	}
	for _, unit := range []string{"silent.service", "other.service"} {
		if got := kill(t, processes.Target{PID: started(t, unit)}); got.WillRestart == nil || *got.WillRestart {
			t.Errorf("%s: %+v", unit, got)
		}
	}
	call := exec.Command("busctl", "call", "--timeout=1", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "StartServiceByName", "su", "org.example.Called", "0")
	out, err := call.CombinedOutput() // nobody takes the name
	t.Logf("%v: %s", err, out)
	testenv.WaitFor(t, "called.service to run again", func() bool { now := mainPID(t, "called.service"); return now != 0 && now != called })
}

func show(t *testing.T, unit, property string) string {
	t.Helper()
	out, err := exec.Command("systemctl", "show", "--value", "--property="+property, unit).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// started starts a unit and returns its main process.
func started(t *testing.T, unit string) int {
	t.Helper()
	if out, err := exec.Command("systemctl", "start", unit).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := mainPID(t, unit)
	testenv.WaitFor(t, "the program of "+unit, func() bool { // until then the process is a child of systemd's
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && filepath.Base(program) != "systemd" && filepath.Base(program) != "systemd-executor"
	})
	return pid
}

func mainPID(t *testing.T, unit string) int {
	t.Helper()
	policy, err := NewTerminator("/").RestartPolicy(t.Context(), unit)
	if err != nil {
		t.Fatal(err)
	}
	return policy.MainPID
}

func TestAnswerSaysWhetherTheServiceComesBack(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"phoenix.service": phoenix, "prevented.service": prevented, "mortal.service": mortal, "workers.service": workers}) {
		return
	}
	first := started(t, "phoenix.service")
	got := kill(t, processes.Target{PID: first})
	if got.Unit != "phoenix.service" || got.WillRestart == nil || !*got.WillRestart ||
		!strings.HasPrefix(got.RestartNote, "phoenix.service will start it again (Restart=always)") {
		t.Errorf("%+v", got)
	}
	testenv.WaitFor(t, "restart", func() bool {
		pid := mainPID(t, "phoenix.service")
		return pid != 0 && pid != first && show(t, "phoenix.service", "ActiveState") == "active"
	})

	got = kill(t, processes.Target{PID: started(t, "prevented.service")})
	if got.WillRestart == nil || *got.WillRestart || got.Signal != processes.SignalKill {
		t.Errorf("%+v", got)
	}
	testenv.WaitFor(t, "its end", func() bool { return show(t, "prevented.service", "ActiveState") == "failed" })

	got = kill(t, processes.Target{PID: started(t, "mortal.service"), Graceful: true})
	if got.Unit != "mortal.service" || got.WillRestart == nil || *got.WillRestart || got.RestartNote != "" || got.Signal != processes.SignalTerm {
		t.Errorf("%+v", got)
	}

	shell := started(t, "workers.service")
	worker := 0
	testenv.WaitFor(t, "worker", func() bool {
		whole, _ := table(t, New("/"))
		for _, p := range whole.Samples {
			if stat, err := New("/").proc.Process(p.PID); err == nil && stat.ParentPID == shell && stat.Name == "sleep" {
				worker = p.PID
			}
		}
		return worker != 0
	})
	got = kill(t, processes.Target{PID: worker})
	if got.Unit != "workers.service" || got.WillRestart != nil || !strings.Contains(got.RestartNote, "whose main process may start another") {
		t.Errorf("%+v", got)
	}
}

func TestPartsOfSystemdAndTheBusAreRefused(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	for unit, why := range map[string]string{
		"systemd-journald.service": "it is a part of systemd",
		"dbus.service":             "the services of this machine talk to each other through it",
		"systemd-logind.service":   "it is a part of systemd",
		"ssh.service":              "people reach this machine through it",
	} {
		pid := started(t, unit)
		refused(t, processes.Target{PID: pid}, fault.ProtectedProcess, why)
		if v := planVerdict(processes.Target{PID: pid, Force: true}); v.Code != "" || v.Summary == "" {
			t.Errorf("%s with force: %+v", unit, v)
		}
	}
}

// The machine that runs the tests must not be asked for another's tree.
func TestTreeThatIsNotLiveHasNoProcessesToEnd(t *testing.T) {
	source := NewTerminator(hosts + "laptop")
	if p, err := source.Pin(1); p != nil || err == nil {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := source.RestartPolicy(t.Context(), "nginx.service"); err == nil {
		t.Error("its service manager answered")
	}
}
