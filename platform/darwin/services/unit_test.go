// SPDX-License-Identifier: Apache-2.0

package services

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
	"sentinel/platform/darwin/launchctl"
)

// What launchd says of a job becomes the state of a service. It says more of one
// that has been restarted.
func TestStatesOfJobs(t *testing.T) {
	type job = launchctl.Job
	before := &job{State: "running", PID: 812, Runs: 3, HasRuns: true}
	off := &job{State: "not running", Runs: 3, HasRuns: true}
	old := &job{State: "running", PID: 812}
	for name, c := range map[string]struct {
		now    job
		before *job
		want   string // active state, type, result, restarts, waits
	}{
		"runs":                       {job{State: "running", PID: 7, KeepAlive: true}, nil, "active simple success 0"},
		"runs, and crashed once":     {job{State: "running", PID: 7, Signal: 11}, nil, "active simple success 0"},
		"is about to be the program": {job{State: "xpcproxy", PID: 7}, nil, "activating simple success 0"},
		"runs without a process":     {job{State: "running"}, nil, "activating oneshot success 0"},
		"waits to be started":        {job{State: "spawn scheduled", Exited: true, Exit: 78, KeepAlive: true}, nil, "activating simple exit-code 0 waits"},
		"was never needed":           {job{State: "not running"}, nil, "inactive oneshot success 0"},
		"was never needed, long ago": {job{State: "waiting"}, nil, "inactive oneshot success 0"},
		"did its work":               {job{State: "not running", Exited: true}, nil, "inactive oneshot success 0"},
		"failed":                     {job{State: "not running", Exited: true, Exit: 1, Semaphores: []string{"successful exit => 1"}}, nil, "failed simple exit-code 0"},
		"crashed":                    {job{State: "not running", Signal: 11}, nil, "failed oneshot signal 0"},
		"was not needed any more":    {job{State: "not running", Signal: 9, Exited: true, Exit: 1}, nil, "inactive oneshot signal 0"},
		"was stopped":                {job{State: "not running", Signal: 15}, nil, "inactive oneshot signal 0"},

		"is still the one before":     {job{State: "running", PID: 812, Runs: 3, HasRuns: true}, before, "deactivating simple success 0"},
		"has ended, and not begun":    {job{State: "not running", Runs: 3, HasRuns: true, Signal: 15}, before, "activating simple success 0"},
		"has begun again":             {job{State: "running", PID: 900, Runs: 4, HasRuns: true, Signal: 15}, before, "active simple success 0"},
		"has its PID again":           {job{State: "running", PID: 812, Runs: 4, HasRuns: true}, before, "active simple success 0"},
		"is at its third life":        {job{State: "running", PID: 901, Runs: 6, HasRuns: true}, before, "active simple success 2"},
		"died":                        {job{State: "not running", Runs: 4, HasRuns: true, Exited: true, Exit: 3}, before, "failed simple exit-code 0"},
		"was killed":                  {job{State: "not running", Runs: 4, HasRuns: true, Signal: 9}, before, "failed simple signal 0"},
		"ended":                       {job{State: "not running", Runs: 4, HasRuns: true, Exited: true}, before, "inactive simple success 0"},
		"waits after its death":       {job{State: "spawn scheduled", Runs: 4, HasRuns: true, Exited: true, Exit: 3}, before, "activating simple exit-code 0 waits"},
		"was off, did its work":       {job{State: "not running", Runs: 4, HasRuns: true, Exited: true}, off, "inactive oneshot success 0"},
		"does not count, as before":   {job{State: "running", PID: 812}, old, "deactivating simple success 0"},
		"does not count, has another": {job{State: "running", PID: 813}, old, "active simple success 0"},
	} {
		u := unit(web, c.now, c.before)
		got := strings.Join([]string{u.Active, u.Type, u.Result, string(rune('0' + u.Restarts))}, " ")
		if u.Waits {
			got += " waits"
		}
		if got != c.want || u.Sub != c.now.State || u.MainPID != c.now.PID {
			t.Errorf("%s: %q, want %q: %+v", name, got, c.want, u)
		}
	}
}

func TestCommandsOfJobs(t *testing.T) {
	for _, c := range []struct {
		job  launchctl.Job
		want [][]string
	}{
		{launchctl.Job{Program: "/bin/sh", Arguments: []string{"backup", "-c", "x"}}, [][]string{{"/bin/sh", "-c", "x"}}},
		{launchctl.Job{Arguments: []string{"/bin/sh", "-c"}}, [][]string{{"/bin/sh", "-c"}}},
		{launchctl.Job{Program: "/bin/true"}, [][]string{{"/bin/true"}}},
		{launchctl.Job{}, nil},
	} {
		if diff := cmp.Diff(c.want, commands(c.job)); diff != "" {
			t.Error(diff)
		}
	}
}

// A job that failed when it ran last does its work this time.
func TestFailedJobThatDoesItsWork(t *testing.T) {
	m := mac(map[string]*job{web: with(func(j *job) {
		j.pid, j.keep, j.ended, j.lives = 0, false, "\tlast exit code = 1\n", []life{{0, "last exit code = 0"}}
	})})
	if got, err := do(t, m, services.Options{Name: web}); err != nil || !strings.Contains(got.Message, "run again and ended with success") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Nobody is logged in: the domains of the person are not there.
func TestDomainsThatAreNotThere(t *testing.T) {
	m, err := replay.OpenMachine(testenv.Plant(t, map[string]string{
		"system.txtar": "argv: /bin/launchctl print system/com.example.agent\nexit: 113\n-- stderr --\nBad request.\nCould not find service \"com.example.agent\" in domain for system\n",
		"gui.txtar":    "argv: /bin/launchctl print gui/501/com.example.agent\nexit: 112\n-- stderr --\nBad request.\nCould not find domain for user gui: 501\n",
		"user.txtar":   "argv: /bin/launchctl print user/501/com.example.agent\nexit: 113\n-- stderr --\nBad request.\nCould not find service \"com.example.agent\" in domain for uid: 501\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	s := source(t, mac(nil))
	s.Runner = m
	if _, err := services.PlanRestart(t.Context(), s, services.Options{Name: "com.example.agent"}); code(err) != fault.ServiceNotFound {
		t.Errorf("%v", err)
	}
}
