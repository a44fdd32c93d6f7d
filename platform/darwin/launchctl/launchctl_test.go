// SPDX-License-Identifier: Apache-2.0

package launchctl

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func client(t *testing.T, files ...string) Client {
	t.Helper()
	for i := range files {
		files[i] = "testdata/" + files[i] + ".txtar"
	}
	return Client{replay.New(t, files...)}
}

func TestPrint(t *testing.T) {
	c := client(t, "print-running", "print-idle-old")
	got, err := c.Print(t.Context(), "system/com.example.web")
	want := Job{
		Target: "system/com.example.web", File: "/Library/LaunchDaemons/com.example.web.plist", Type: "LaunchDaemon", State: "running",
		Program: "/usr/local/bin/web", PID: 812, Runs: 3, HasRuns: true, Exited: true, Exit: 78, LogFile: "/usr/local/var/log/web.err",
		Throttle: 10 * time.Second, Arguments: []string{"/usr/local/bin/web", "--listen", "192.0.2.7:80"},
		KeepAlive: true, RunAtLoad: true, Semaphores: []string{"successful exit => 0"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	got, err = c.Print(t.Context(), "system/com.example.idle")
	want = Job{
		Target: "com.example.idle", File: "/Library/LaunchDaemons/com.example.idle.plist", State: "waiting", Program: "/usr/local/libexec/idle",
		Runs: 2, HasRuns: true, Signal: 11, Throttle: time.Minute, RunAtLoad: true, OnDemand: true,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// An argument may contain anything, even text that looks like lines of launchctl.
func TestArgumentsDoNotForgeAJob(t *testing.T) {
	forged := "x/y = {\n\tstate = not running\n\tprogram = /bin/sh\n\targuments = {\n\t\t/bin/sh\n\t}\n\tstate = running\n\tprogram = /sbin/launchd\n\tpid = 7\n\t\t\x1b[2J\n\t}\n" +
		"\tpid = 9\n\tproperties = keepalive\n}\n"
	j, err := parsePrint([]byte(forged))
	if err != nil || j.State != "not running" || j.Program != "/bin/sh" || j.PID != 9 {
		t.Errorf("%+v, %v", j, err)
	}
}

func TestOutputsThatAreNoJob(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing": "", "a message": "Usage: launchctl print <domain-target>\n", "cut": "system/a = {\n\tstate = running\n\tpid = 7\n",
		"without a state": "system/a = {\n\tpid = 7\n}\n", "without anything": "system/a = {\n}\n", "noise before": "2026-01-02 launchctl[1:2] x\nsystem/a = {\n\tstate = running\n}\n",
		"another language": "système/a : {\n\tétat = actif\n}\n",
	} {
		if j, err := parsePrint([]byte(raw)); err == nil {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

func TestFailures(t *testing.T) {
	c := client(t, "missing-12", "missing-26", "no-domain")
	for target, code := range map[string]int{"system/com.example.none": NoService, "gui/501/com.example.none": NoService, "gui/502/com.example.none": NoDomain} {
		_, err := c.Print(t.Context(), target)
		var f *Failure
		if !errors.As(err, &f) || f.Code != code || !strings.HasPrefix(f.Text, "Could not find") {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, r := range []struct {
		exit int
		text string
		code int
	}{
		{1, "Could not kickstart service \"a\": 1: Operation not permitted", NotPermitted},
		{150, "Could not kickstart service: 150: Operation not permitted while System Integrity Protection is engaged", ProtectedBySIP},
		{1, "Could not kickstart service \"a\":\n150: Operation not permitted while System Integrity Protection is engaged\n", ProtectedBySIP},
		{5, "Boot-out failed: 5: Input/output error\n", InputOutput},
		{119, "Could not kickstart service \"a\": 119: Service is disabled", Disabled},
		{125, "Could not kickstart service \"a\": 125: Domain does not support specified action", UnsupportedAction},
		{113, "Could not find service \"a\" in domain for user gui: 501", NoService},
		{64, "Usage: launchctl kickstart [-k] [-p] <service-target>", 64},
		{1, "Could not find domain for user gui: 501", NoDomain},
		{9, "\x1b[2J" + strings.Repeat("x", 1000), 9},
		{137, "", 137},
	} {
		err := failure(sysexec.Result{Exit: r.exit, Stderr: []byte(r.text)})
		var f *Failure
		if !errors.As(err, &f) || f.Code != r.code || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v", r.text, err)
		}
	}
}

func TestRestart(t *testing.T) {
	if err := client(t, "kickstart").Restart(t.Context(), "system/com.example.web", time.Second); err != nil {
		t.Error(err)
	}
	for file, code := range map[string]int{"kickstart-denied": NotPermitted, "kickstart-guarded": ProtectedBySIP} {
		target := "system/com.example.web"
		if code == ProtectedBySIP {
			target = "system/com.apple.example"
		}
		err := client(t, file).Restart(t.Context(), target, time.Second)
		var f *Failure
		if !errors.As(err, &f) || f.Code != code {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestList(t *testing.T) {
	got, err := client(t, "list").List(t.Context())
	want := []Entry{{0, 0, "com.example.idle"}, {812, 0, "com.example.web"}, {0, -9, "homebrew.mxcl.postgresql@14"}, {931, -15, "com.example.again"}, {0, 126, "com.example.broken"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, raw := range []string{"", "PID Status Label\n1 0 a\n", "launchctl: not now\n"} {
		if got, err := parseList([]byte(raw)); err == nil {
			t.Errorf("%q: %v", raw, got)
		}
	}
	odd := "noise\nPID\tStatus\tLabel\n-5\t0\ta\n7\tx\tb\n7\t0\n7\t0\t\n8\t0\tc\r\n9"
	if got, err := parseList([]byte(odd)); err != nil || !slices.Equal(got, []Entry{{8, 0, "c"}}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDisabled(t *testing.T) {
	c := client(t, "disabled", "disabled-old")
	for _, domain := range []string{"system", "user/501"} {
		got, err := c.Disabled(t.Context(), domain)
		if diff := cmp.Diff(map[string]bool{"com.example.web": false, "com.example.off": true}, got); diff != "" || err != nil {
			t.Error(domain, err, diff)
		}
	}
	if got, err := parseDisabled([]byte("Bad request.\n")); err == nil {
		t.Error(got)
	}
}

func TestMachinesWhereLaunchctlDoesNotAnswer(t *testing.T) {
	m, err := replay.OpenMachine(testenv.Plant(t, map[string]string{
		"hang.txtar":  "argv: /bin/launchctl print system/hangs\nerror: hang\n",
		"flood.txtar": "argv: /bin/launchctl list\nerror: flood\n-- stdout --\nPID\tStatus\tLabel\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	c := Client{m}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Print(ctx, "system/hangs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := c.List(t.Context()); !errors.Is(err, sysexec.ErrOutputTooLarge) {
		t.Error(err)
	}
	if _, err := c.Disabled(t.Context(), "system"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A recorded job holds the fields that the test compares.
type recorded struct {
	state  string
	pid    int
	runs   int
	exit   int // -1 for none
	keep   bool
	failed bool // truncated, or not a job
}

func TestRecordedOutputs(t *testing.T) {
	jobs := map[string]recorded{
		"print-gui-exit1-macos27.txt":         {"not running", 0, 4, 1, false, false},
		"print-gui-never-run-macos27.txt":     {"not running", 0, 0, -1, false, false},
		"print-gui-not-running-2026.txt":      {"not running", 0, 4, 0, false, false},
		"print-gui-running-macos27.txt":       {"running", 1076, 1, -1, true, false},
		"print-user-not-running-calendar.txt": {"not running", 0, 1, 0, false, false},
		"procinfo-10.11.txt":                  {"running", 8116, 1, -1, false, false},
		"print-system-running-10.10.txt":      {"running", 24784, 2, 1, false, true},
		"print-system-not-running-2024.txt":   {"not running", 0, 1, 0, false, true},
	}
	lists := map[string]int{"list-root-10.11-alf-unloaded.txt": 100, "list-short-negative-status.txt": 3, "list-user-2025.txt": 29}
	failures := map[string]int{
		"bootout-io-error-5.txt": InputOutput, "bootout-not-permitted-1.txt": NotPermitted, "kickstart-not-permitted-14.4.txt": NotPermitted,
		"kickstart-sip-150-root.txt": ProtectedBySIP, "kickstart-sip-150.txt": ProtectedBySIP, "print-not-found-macos27.txt": NoService,
		"print-not-found-system.txt": NoService, "print-screensharing-off-26.5.1.txt": NoService, "print-sshd-off-26.5.1.txt": NoService,
	}
	for _, out := range testenv.RecordedOutputs(t, "launchctl") {
		j, jobErr := parsePrint(out.Raw)
		if want, ok := jobs[out.Name]; ok {
			exit := -1
			if j.Exited {
				exit = j.Exit
			}
			if got := (recorded{j.State, j.PID, j.Runs, exit, j.KeepAlive, jobErr != nil}); got != want {
				t.Errorf("%s: %+v, want %+v (%v)", out.Name, got, want, jobErr)
			}
		} else if text := string(out.Raw); jobErr == nil && !strings.Contains(text, "state = "+j.State) {
			t.Errorf("%s was taken for a job: %+v", out.Name, j)
		}
		entries, err := parseList(out.Raw)
		isList := strings.HasPrefix(string(out.Raw), "PID\tStatus\tLabel\n")
		if want := lists[out.Name]; isList != (err == nil) || len(entries) < want || isList && len(entries) != strings.Count(string(out.Raw), "\n")-1 {
			t.Errorf("%s: %d entries, %v", out.Name, len(entries), err)
		}
		disabled, err := parseDisabled(out.Raw)
		if isDisabled := strings.Contains(string(out.Raw), "disabled services = {"); isDisabled != (err == nil) || out.Name == "print-disabled-2025.txt" && (!disabled["org.macports.apache2"] || disabled["org.openvpn.helper"]) {
			t.Errorf("%s: %v, %v", out.Name, disabled, err)
		}
		var f *Failure
		if want, ok := failures[out.Name]; ok && (!errors.As(failure(sysexec.Result{Exit: 1, Stderr: out.Raw}), &f) || f.Code != want) {
			t.Errorf("%s: %+v", out.Name, f)
		}
	}
}

func FuzzPrint(f *testing.F) {
	f.Add("system/a = {\n\tstate = running\n\tpid = 7\n\tproperties = keepalive | runatload\n}\n")
	f.Add("a = {\n  state = waiting\n  properties = {\n    keepalive = 1\n  }\n}\n")
	f.Fuzz(func(t *testing.T, raw string) {
		j, err := parsePrint([]byte(raw))
		if err == nil && (j.State == "" || j.PID < 0 || j.Runs < 0 || strings.Contains(j.Target+j.State+j.Program, "\n")) {
			t.Errorf("%+v", j)
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add("PID\tStatus\tLabel\n-\t0\ta\n7\t-9\tb\n", "\tdisabled services = {\n\t\t\"a\" => disabled\n\t}\n")
	f.Fuzz(func(t *testing.T, jobs, off string) {
		entries, _ := parseList([]byte(jobs))
		for _, e := range entries {
			if e.PID < 0 || e.Label == "" || strings.ContainsAny(e.Label, "\t\n") {
				t.Errorf("%+v", e)
			}
		}
		disabled, err := parseDisabled([]byte(off))
		if _, odd := disabled[""]; odd || err == nil && disabled == nil {
			t.Errorf("%v", disabled)
		}
	})
}
