// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
)

// at is the moment of these tests.
var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// inspect asks about nginx and finds it.
func inspect(t *testing.T, f *fake, change func(*Question)) (Service, Status) {
	t.Helper()
	q := Question{Name: "nginx", Rows: -1, Now: at}
	if change != nil {
		change(&q)
	}
	status, err := Inspect(t.Context(), f, q)
	if err != nil || len(status.Services) != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	return status.Services[0], status
}

// failed returns nginx after it has failed.
func failed(change func(*Unit)) Unit {
	return with(running("nginx.service"), func(u *Unit) {
		u.Active, u.Sub, u.MainPID, u.Group, u.Since = "failed", "failed", 0, "", at.Add(-time.Minute)
		change(u)
	})
}

func TestWhyAServiceFailed(t *testing.T) {
	signal := func(n int) func(*Unit) { return func(u *Unit) { u.Result, u.ExitCode, u.ExitStatus = "signal", 2, n } }
	result := func(name string) func(*Unit) { return func(u *Unit) { u.Result = name } }
	for name, c := range map[string]struct {
		change  func(*Unit)
		summary string
		meaning string
	}{
		"status":         {exited(3), "nginx.service failed: it ended with exit status 3.", ""},
		"sysexits":       {exited(78), "nginx.service failed: it ended with exit status 78 (its configuration is wrong).", "its configuration is wrong"},
		"of the manager": {exited(203), "nginx.service failed: it ended with exit status 203 (its program is missing).", "its program is missing"},
		"signal":         {signal(11), "nginx.service failed: it was ended by SIGSEGV (it crashed: invalid access to memory).", "it crashed: invalid access to memory"},
		"unknown signal": {signal(63), "nginx.service failed: it was ended by signal 63.", ""},
		"memory":         {func(u *Unit) { signal(9)(u); u.Result = "oom-kill" }, "nginx.service failed: it was killed because memory ran out.", "it was killed, by somebody or for want of memory"},
		"time":           {func(u *Unit) { exited(1)(u); u.Result = "timeout" }, "did not start or stop in time (exit status 1)", ""},
		"watchdog":       {result("watchdog"), "signs of life", ""},
		"resources":      {result("resources"), "systemd could not set up what it needs", ""},
		"protocol":       {result("protocol"), "type in its unit file", ""},
		"start limit":    {result("start-limit-hit"), "it was started too often (start limit). systemd has given it up (start limit).", ""},
		"given up":       {func(u *Unit) { exited(6)(u); u.ComesBack, u.Restarts = true, 4 }, "it ended with exit status 6. systemd has given it up (start limit).", ""},
		"loop":           {func(u *Unit) { exited(6)(u); u.Active, u.Sub, u.Restarts = "activating", "auto-restart", 57 }, "nginx.service keeps dying: it ended with exit status 6, and systemd starts it again (57 times so far).", ""},
		"code signing":   {func(u *Unit) { signal(9)(u); u.Reason = "OS_REASON_CODESIGNING" }, "it was ended by SIGKILL (OS_REASON_CODESIGNING)", "OS_REASON_CODESIGNING"},
	} {
		s, _ := inspect(t, machine(failed(c.change)), nil)
		if s.Well || !strings.Contains(s.Summary, c.summary) || s.ExitMeaning != c.meaning || s.Since != "2026-03-04T05:05:07Z" {
			t.Errorf("%s: %q, meaning %q, since %s", name, s.Summary, s.ExitMeaning, s.Since)
		}
	}
}

func TestAServiceThatWasGivenUpSaysWhatLetsItStart(t *testing.T) {
	s, _ := inspect(t, machine(failed(func(u *Unit) {
		exited(6)(u)
		u.ComesBack, u.Restarts, u.RestartedBy = true, 4, []string{"systemd starts it again after a failure"}
	})), nil)
	want := []string{"Not systemd, which has given it up, until: systemctl reset-failed nginx.service", "systemd starts it again after a failure"}
	if diff := cmp.Diff(want, s.RestartedBy); diff != "" {
		t.Error(diff)
	}
}

func TestAServiceThatIsOff(t *testing.T) {
	off := func(change func(*Unit)) Unit {
		return failed(func(u *Unit) { u.Active, u.Sub = "inactive", "dead"; change(u) })
	}
	for name, c := range map[string]struct {
		unit    Unit
		well    bool
		summary string
	}{
		"exits at once": {off(func(u *Unit) { u.ExitCode, u.Started, u.Ended = 1, at, at.Add(20*time.Millisecond) }), false, "is off: it ended by itself (exit status 0) 0.0 s after its start."},
		"was stopped":   {off(func(*Unit) {}), false, "is off although it is to run"},
		"switched off":  {off(func(u *Unit) { u.Dormant = errors.New("off") }), true, "is off and not switched on."},
		"has worked":    {off(func(u *Unit) { u.Type, u.Ended = "oneshot", at }), true, "is off: its work is done."},
		"a condition":   {off(func(u *Unit) { u.Unmet = true }), false, "A condition of nginx.service is not met"},
		"masked":        {off(func(u *Unit) { u.Unusable = errors.New("nginx.service is masked.") }), true, "nginx.service is masked."},
	} {
		if s, _ := inspect(t, machine(c.unit), nil); s.Well != c.well || !strings.Contains(s.Summary, c.summary) {
			t.Errorf("%s: well %v, %q", name, s.Well, s.Summary)
		}
	}
}

// The cause is what is not well although all that it needs is.
func TestNeedsAreFollowedToTheirCause(t *testing.T) {
	dead := func(name string, needs ...string) Unit {
		return with(running(name), func(u *Unit) { u.Active, u.Sub, u.MainPID, u.Needs, u.Group = "inactive", "dead", 0, needs, "" })
	}
	broken := with(dead("disk.mount"), func(u *Unit) { u.Active = "failed"; exited(32)(u); u.Service, u.Type = false, "" })
	done := with(dead("setup.service"), func(u *Unit) { u.Type = "oneshot" })
	loop := with(dead("loop.service", "nginx.service", "loop.service"), func(*Unit) {})
	f := machine(dead("nginx.service", "basic.target", "app.service", "setup.service", "gone.service", "loop.service"),
		running("basic.target"), dead("app.service", "db.service"), dead("db.service", "disk.mount"), broken, done, loop)
	s, _ := inspect(t, f, nil)
	want := []Need{
		{Name: "disk.mount", Path: []string{"app.service", "db.service", "disk.mount"}, Why: "disk.mount failed: it ended with exit status 32."},
		{Name: "gone.service", Path: []string{"gone.service"}, Why: "gone.service does not exist."},
		{Name: "loop.service", Path: []string{"loop.service"}, Why: "loop.service is off."},
	}
	if diff := cmp.Diff(want, s.FailedNeeds); diff != "" {
		t.Error(diff)
	}
	if want := "It needs what is not well: disk.mount failed: it ended with exit status 32. (through app.service, db.service) gone.service does not exist."; !strings.Contains(s.Summary, want) {
		t.Errorf("%q", s.Summary)
	}
}

func TestNeedsAreBounded(t *testing.T) {
	f := machine(with(running("nginx.service"), func(u *Unit) { u.Active, u.Needs = "inactive", []string{"0.service"} }))
	for i := range 200 {
		f.units[fmt.Sprint(i)+".service"] = with(running(fmt.Sprint(i)+".service"), func(u *Unit) {
			u.Active = "failed"
			for j := range 100 {
				u.Needs = append(u.Needs, fmt.Sprint(i+j+1)+".service")
			}
		})
	}
	s, status := inspect(t, f, nil)
	if f.read > maxReach+2 || len(s.FailedNeeds) != maxNeeds || len(s.FailedNeeds[0].Path) > maxDepth {
		t.Errorf("%d units read, %d causes", f.read, len(s.FailedNeeds))
	}
	if len(status.Unavailable) != 1 || status.Unavailable[0].Field != "failed_needs" {
		t.Errorf("%+v", status.Unavailable)
	}
}

func TestWhoHoldsThePortThatAServiceWants(t *testing.T) {
	ports := []Port{
		{PID: 7, Process: "apache2", Address: "0.0.0.0:80", Protocol: "TCP", Number: 80},
		{PID: 8, Process: "sshd", Address: "0.0.0.0:22", Protocol: "TCP", Number: 22},
		{Address: "[::]:8080", Protocol: "TCP", Number: 8080},
	}
	for line, want := range map[string]string{
		"nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)":  "Port 80, which its log says is in use, is held by \"apache2\" (PID 7).",
		"listen tcp :80: bind: address already in use":                             `held by "apache2"`,
		"Error: listen EADDRINUSE: address already in use :::80":                   `held by "apache2"`,
		"OSError: [Errno 98] Address already in use: ('', port 80)":                `held by "apache2"`,
		"listen tcp [::]:8080: bind: address already in use":                       "held by a process that cannot be seen without root, at [::]:8080",
		`192.0.2.9 - - [24/Nov/2026] "GET /?EADDRINUSE:22 HTTP/1.1" 404 7`:         "",
		`192.0.2.9 asked for /?address+already+in+use:22`:                          "",
		`Address already in use - bind(2) for "127.0.0.1" port 80`:                 `held by "apache2"`,
		"10:22:33 listen tcp :81: bind: address already in use":                    "",
		"listening on 0.0.0.0:80":                                                  "",
		"listen tcp :81: bind: address already in use":                             "",
		"listen tcp :99999999999999999999: bind: address already in use 0.0.0.0:0": "",
	} {
		f := machine(failed(exited(1)))
		f.log = []string{line}
		s, _ := inspect(t, f, func(q *Question) { q.Listening = func(context.Context) ([]Port, error) { return ports, nil } })
		if !strings.Contains(s.Summary, want) || want == "" && len(s.PortsTakenBy) != 0 {
			t.Errorf("%s: %q %+v", line, s.Summary, s.PortsTakenBy)
		}
	}
}

// Whoever writes into the log of a service would choose which process is blamed.
func TestWhatOthersWriteIntoTheLogBlamesNobody(t *testing.T) {
	f := machine(failed(exited(1)))
	f.log, f.posed = []string{"(user mallory) systemd: bind: address already in use: port 5353"}, true
	s, _ := inspect(t, f, func(q *Question) {
		q.Listening = func(context.Context) ([]Port, error) { return []Port{{PID: 7, Number: 5353}}, nil }
	})
	if want := "nginx.service failed: it ended with exit status 1."; s.Summary != want || len(s.PortsTakenBy) != 0 || len(s.Log) != 1 {
		t.Errorf("%q, %+v, %+v", s.Summary, s.PortsTakenBy, s.Log)
	}
}

func TestAServiceThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, first, second, tasks := uint64(5<<20), 2*time.Second, 2250*time.Millisecond, uint64(3)
		u := with(running("nginx.service"), func(u *Unit) {
			u.Since, u.Enabled, u.File, u.Stale, u.Description = at.Add(-time.Hour), "enabled", "/lib/nginx.service", " Its unit file has changed: systemctl daemon-reload", "A \x1b[2Jserver"
			u.Restarts = 2
		})
		f := machine(u)
		use := Use{PIDs: []int{812, 813}, Memory: &memory, MemoryLimit: 10 << 20, CPU: &first, CPULimit: 0.5, Throttled: &first, Tasks: &tasks, TasksLimit: 9}
		later := use
		later.CPU = &second
		f.uses, f.first, f.log = []Use{use, later}, at.Add(-2*time.Hour), []string{"GET /?password=hunter2", "\x1b[2Jx"}
		s, status := inspect(t, f, func(q *Question) {
			q.Listening = func(context.Context) ([]Port, error) {
				return []Port{{PID: 813, Address: "0.0.0.0:80", Protocol: "TCP", Number: 80}, {PID: 9, Address: "0.0.0.0:22"}, {Address: "0.0.0.0:1"}}, nil
			}
		})
		half, seconds := 50.0, 2.0
		want := Service{
			Name: "nginx.service", Description: "A [2Jserver", Well: true, Summary: "nginx.service is active (running).",
			State: State{Active: "active", Sub: "running", MainPID: 812, Restarts: 2}, Since: "2026-03-04T04:06:07Z", FirstRestart: "2026-03-04T03:06:07Z",
			Ports: []Port{{PID: 813, Address: "0.0.0.0:80", Protocol: "TCP", Number: 80}},
			Resources: &Resources{
				Processes: 2, MemoryBytes: &memory, MemoryLimitBytes: 10 << 20, CPUPercent: &half, CPUSeconds: &seconds, CPULimitPercent: 50,
				ThrottledSeconds: &seconds, Tasks: &tasks, TasksLimit: 9,
			},
			Enabled: "enabled", UnitFile: "/lib/nginx.service", ReloadNeeded: "Its unit file has changed: systemctl daemon-reload", RestartedBy: []string{},
		}
		want.Log = s.Log
		want.Description = s.Description
		if diff := cmp.Diff(want, s); diff != "" {
			t.Error(diff)
		}
		if text := fmt.Sprint(s.Log, s.Description); len(s.Log) != 2 || strings.Contains(text, "hunter2") || strings.Contains(text, "\x1b") {
			t.Errorf("%q", text)
		}
		if len(status.Unavailable) != 0 || !f.calls["close"] {
			t.Errorf("%+v", status.Unavailable)
		}
	})
}

func TestWhatCannotBeReadOfAServiceIsSaid(t *testing.T) {
	f := machine(failed(exited(1)))
	f.logErr = errors.New("no journal")
	s, status := inspect(t, f, nil)
	if s.Log != nil || len(status.Unavailable) != 1 || status.Unavailable[0].Field != "log" || !strings.Contains(status.Unavailable[0].Reason, "no journal") {
		t.Errorf("%+v, %+v", s.Log, status.Unavailable)
	}
}

func TestAllThatAreNotWell(t *testing.T) {
	f := machine(failed(exited(3)),
		with(running("loops.service"), func(u *Unit) { u.Restarts, u.Started, u.Since = 9, at.Add(-time.Second), at.Add(-2*time.Hour) }),
		with(running("calm.service"), func(u *Unit) { u.Restarts, u.Started, u.Since = 9, at.Add(-2*time.Hour), at.Add(-time.Second) }),
		with(running("works.service"), func(u *Unit) { u.Active, u.Type = "inactive", "oneshot" }),
		with(running("clean.service"), func(u *Unit) { u.Active, u.Sub = "activating", "auto-restart" }))
	f.suspects = [][]string{{"nginx.service"}, {"calm.service"}, {"works.service"}, {"loops.service"}, {"clean.service"}, {"gone.service"}}
	status, err := Inspect(t.Context(), f, Question{Rows: -1, Now: at})
	var names []string
	for _, s := range status.Services {
		names = append(names, s.Name+": "+s.Summary)
	}
	want := []string{
		"nginx.service: nginx.service failed: it ended with exit status 3.",
		"loops.service: loops.service is active (running), but systemd had to start it again 9 times, the last time at 2026-03-04T05:06:06Z.",
	}
	if diff := cmp.Diff(want, names); diff != "" || err != nil || status.Total != 2 || status.Truncated {
		t.Errorf("%v %s", err, diff)
	}
	for i := range 100 {
		name := fmt.Sprintf("x%d.service", i)
		f.units[name], f.suspects = with(failed(exited(3)), func(u *Unit) { u.Name = name }), append(f.suspects, []string{name})
	}
	f.unseen = 3
	status, err = Inspect(t.Context(), f, Question{Rows: -1, Now: at})
	unseen := fmt.Sprintf("%d more services may not be well and were not looked at", len(f.suspects)-maxSuspects+3)
	if err != nil || len(status.Services) != maxListed || status.Total != maxSuspects-4 || !status.Truncated || len(status.Unavailable) != 1 || status.Unavailable[0].Reason != unseen {
		t.Errorf("%d of %d, %v, %+v", len(status.Services), status.Total, err, status.Unavailable)
	}
}

// Any user makes instances of the service behind a socket with Accept=yes.
func TestManyInstancesHideNoOtherService(t *testing.T) {
	f := machine(failed(exited(3)))
	var instances []string
	for i := range 250 {
		name := fmt.Sprintf("knock@%d.service", i)
		f.units[name], instances = with(failed(exited(1)), func(u *Unit) { u.Name, u.Since = name, at }), append(instances, name)
	}
	f.units["knock@0.service"] = running("knock@0.service")
	f.suspects = [][]string{instances, {"nginx.service"}}
	status, err := Inspect(t.Context(), f, Question{Rows: -1, Now: at})
	if err != nil || len(status.Services) != 2 || status.Total != 2 || status.Truncated || len(status.Unavailable) != 0 || f.read > 4 {
		t.Fatalf("%+v, %v, %d units read", status, err, f.read)
	}
	knock, nginx := status.Services[0], status.Services[1]
	want := "knock@1.service failed: it ended with exit status 1. It is one of 250 instances of its template that may not be well."
	if knock.Name != "knock@1.service" || knock.Instances != 250 || knock.Summary != want || nginx.Name != "nginx.service" || nginx.Instances != 0 {
		t.Errorf("%+v, %+v", knock, nginx)
	}
}

// The first of a template may be well, and one of them not.
func TestInstancesThatWereNotLookedAtAreSaid(t *testing.T) {
	f := machine(with(running("job@1.service"), func(u *Unit) { u.Active, u.Type = "inactive", "oneshot" }))
	for _, name := range []string{"job@2.service", "job@3.service", "job@4.service"} {
		f.units[name] = f.units["job@1.service"]
	}
	f.units["job@5.service"] = with(failed(exited(1)), func(u *Unit) { u.Name = "job@5.service" })
	f.suspects = [][]string{{"job@1.service", "job@2.service", "job@3.service", "job@4.service", "job@5.service"}}
	status, err := Inspect(t.Context(), f, Question{Rows: -1, Now: at})
	if err != nil || len(status.Services) != 0 || len(status.Unavailable) != 1 || status.Unavailable[0].Reason != "2 more services may not be well and were not looked at" {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestServicesThatCannotBeInspected(t *testing.T) {
	f := machine(running("nginx.service"), with(running("x.target"), func(u *Unit) { u.Service = false }))
	f.units["alias.service"] = f.units["x.target"]
	for name, want := range map[string]fault.Code{"ngnx": fault.ServiceNotFound, "alias": fault.InvalidService} {
		if _, err := Inspect(t.Context(), f, Question{Name: name, Now: at}); code(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.unitErr = func() error { return errors.New("gone") }
	for _, name := range []string{"", "nginx"} {
		if _, err := Inspect(t.Context(), f, Question{Name: name, Now: at}); code(err) != fault.Unavailable {
			t.Errorf("%q: %v", name, err)
		}
	}
}
