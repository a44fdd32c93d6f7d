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
	"unicode/utf8"

	"sentinel/internal/fault"
	"sentinel/internal/progress"
)

// do plans and does a restart of nginx.
func do(ctx context.Context, t *testing.T, f *fake, o Options) (Restarted, error) {
	t.Helper()
	o.Name = "nginx"
	r, err := PlanRestart(ctx, f, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Do(ctx)
}

// now returns nginx as it is after its restart.
func now(active, sub string, change func(*Unit)) Unit {
	return with(running("nginx.service"), func(u *Unit) {
		u.Active, u.Sub, u.MainPID, u.Invocation = active, sub, 900, "new"
		if active != "active" {
			u.MainPID = 0
		}
		if change != nil {
			change(u)
		}
	})
}

func exited(status int) func(*Unit) {
	return func(u *Unit) { u.Result, u.ExitCode, u.ExitStatus = "exit-code", 1, status }
}

// flapping dies every so often and is started again.
func flapping(every time.Duration) []moment {
	var life []moment
	for i := range 40 {
		at := time.Duration(i) * every
		life = append(life,
			moment{at, now("active", "running", func(u *Unit) { u.Restarts = i; u.MainPID = 900 + i })},
			moment{at + every - every/4, now("activating", "auto-restart", func(u *Unit) { exited(3)(u); u.Restarts = i })})
	}
	return life
}

func TestRestartsThatSettle(t *testing.T) {
	oneshot := func(u *Unit) { u.Type = "oneshot" }
	for name, c := range map[string]struct {
		before func(*Unit)
		jobIn  time.Duration
		life   []moment
		says   string
		state  State
		took   time.Duration
	}{
		"stays up": {nil, 100 * time.Millisecond, []moment{{0, now("active", "running", nil)}},
			"nginx.service was restarted and is active (running), main PID 900.", State{Active: "active", Sub: "running", MainPID: 900}, 10100 * time.Millisecond},
		"starts slowly": {nil, 30 * time.Second, []moment{{0, now("active", "running", nil)}}, "main PID 900", State{Active: "active", Sub: "running", MainPID: 900}, 40 * time.Second},
		"oneshot":       {oneshot, time.Second, []moment{{0, now("inactive", "dead", oneshot)}}, "run again and ended with success", State{Active: "inactive", Sub: "dead"}, time.Second},
		"oneshot that stays": {oneshot, time.Second, []moment{{0, now("active", "exited", func(u *Unit) { oneshot(u); u.MainPID = 0 })}},
			"its work is done", State{Active: "active", Sub: "exited"}, time.Second},
		"does its work": {func(u *Unit) { u.Active, u.MainPID = "inactive", 0 }, 0, []moment{{0, now("active", "running", nil)}, {time.Second, now("inactive", "dead", nil)}},
			"ended with success", State{Active: "inactive", Sub: "dead"}, time.Second},
		"without a main process": {nil, 0, []moment{{0, now("active", "running", func(u *Unit) { u.MainPID = 0 })}}, "is active (running).", State{Active: "active", Sub: "running"}, 10 * time.Second},
		"needs two starts": {nil, 0, []moment{
			{0, now("activating", "auto-restart", exited(3))}, {time.Second, now("active", "running", func(u *Unit) { u.Restarts = 1 })},
		}, "It died at first", State{Active: "active", Sub: "running", MainPID: 900, Restarts: 1}, 11 * time.Second},
		"another main process": {nil, 0, []moment{{0, now("active", "running", func(u *Unit) { u.MainPID = 1 })}, {time.Second, now("active", "running", nil)}},
			"main PID 900.", State{Active: "active", Sub: "running", MainPID: 900}, 11 * time.Second},
		"was counted before": {func(u *Unit) { u.Restarts = 7 }, 0, []moment{{0, now("active", "running", func(u *Unit) { u.Restarts = 7 })}},
			"main PID 900. Before, systemd had started it again 7 times by itself.", State{Active: "active", Sub: "running", MainPID: 900}, 10 * time.Second},
		"was counted before, from nothing": {func(u *Unit) { u.Restarts = 7 }, 0, []moment{{0, now("active", "running", func(u *Unit) { u.Restarts = 0 })}},
			"main PID 900.", State{Active: "active", Sub: "running", MainPID: 900}, 10 * time.Second},
		"changed on disk": {func(u *Unit) { u.Stale = " Its file has changed: systemctl daemon-reload" }, 0, []moment{{0, now("active", "running", nil)}}, "systemctl daemon-reload", State{Active: "active", Sub: "running", MainPID: 900}, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			before := running("nginx.service")
			if c.before != nil {
				before = with(before, c.before)
			}
			f := machine(before)
			f.job, f.jobIn, f.life = "done", c.jobIn, c.life
			got, err := do(t.Context(), t, f, Options{})
			if err != nil || got.State != c.state || !strings.Contains(got.Message, c.says) || got.Pending || got.Log != nil || got.Label != "nginx.service" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if took := time.Duration(got.TookMS) * time.Millisecond; took < c.took || took > c.took+sampleEvery {
				t.Errorf("%s took %v, want %v", name, took, c.took)
			}
		})
	}
}

func TestRestartsThatFail(t *testing.T) {
	life := func(u Unit) []moment { return []moment{{0, u}} }
	for name, c := range map[string]struct {
		before func(*Unit)
		job    string
		life   []moment
		says   string
		took   time.Duration
	}{
		"dies at once":                      {nil, "done", life(now("failed", "failed", exited(3))), "died right after the restart (exit status 3).", 0},
		"dies by a signal":                  {nil, "done", life(now("failed", "failed", func(u *Unit) { u.Result, u.ExitCode, u.ExitStatus = "core-dump", 3, 11 })), "(SIGSEGV)", 0},
		"dies later":                        {nil, "done", append(life(now("active", "running", nil)), moment{2200 * time.Millisecond, now("failed", "failed", exited(4))}), "(exit status 4)", 2250 * time.Millisecond},
		"dies and is off":                   {nil, "done", append(life(now("active", "running", nil)), moment{time.Second, now("inactive", "dead", func(u *Unit) { u.ExitCode = 1 })}), "ended by itself right after the restart (exit status 0)", time.Second},
		"is forgotten":                      {nil, "done", life(now("inactive", "dead", nil)), "is off right after the restart", 0},
		"condition":                         {nil, "done", life(now("inactive", "dead", func(u *Unit) { u.Unmet = true })), "a condition of its unit file is not met", 0},
		"oneshot":                           {func(u *Unit) { u.Type = "oneshot" }, "failed", life(now("failed", "failed", func(u *Unit) { exited(8)(u); u.Type = "oneshot" })), "was run again and failed (exit status 8)", 0},
		"loop":                              {nil, "done", flapping(time.Second), "keeps dying", 2500 * time.Millisecond},
		"dies after six seconds":            {nil, "done", append(life(now("active", "running", nil)), moment{6 * time.Second, now("failed", "failed", exited(4))}), "(exit status 4)", 6 * time.Second},
		"dies six seconds after each start": {nil, "done", flapping(8 * time.Second), "seen to die 2 times since the restart", 14 * time.Second},
		"fast loop":                         {nil, "done", flapping(300 * time.Millisecond), "keeps dying", 2500 * time.Millisecond},
		"slow loop":                         {nil, "done", flapping(2 * time.Second), "keeps dying", 3500 * time.Millisecond},
		"waits long":                        {nil, "done", life(now("activating", "auto-restart", exited(7))), "(exit status 7), and systemd waits to start it again", 10 * time.Second},
		"notify loop":                       {nil, "failed", append(life(now("activating", "auto-restart", exited(3))), flapping(time.Second)[2:]...), "keeps dying", 2500 * time.Millisecond},
		"given up":                          {nil, "done", append(flapping(200 * time.Millisecond)[:6], moment{600 * time.Millisecond, now("failed", "failed", func(u *Unit) { exited(6)(u); u.Restarts = 4 })}), "died 5 times since the restart (exit status 6), and systemd has given it up", 750 * time.Millisecond},
		"limit":                             {nil, "failed", life(now("failed", "failed", func(u *Unit) { u.Result = "start-limit-hit" })), "was started too often", 0},
		"limit from before":                 {func(u *Unit) { u.Active, u.Invocation = "failed", "old" }, "failed", life(now("failed", "failed", func(u *Unit) { exited(6)(u); u.Invocation = "old" })), "was started too often", 0},
		"limit of one that was on":          {func(u *Unit) { u.Invocation = "old" }, "failed", life(now("failed", "failed", func(u *Unit) { exited(143)(u); u.Invocation = "old" })), "was stopped and not started again: it was started too often, and systemd", 0},
		"again":                             {func(u *Unit) { u.Active, u.Invocation = "failed", "old" }, "failed", life(now("failed", "failed", exited(6))), "died right after", 0},
		"timeout":                           {nil, "failed", life(now("failed", "failed", func(u *Unit) { u.Result = "timeout" })), "did not start or stop in time", 0},
		"watchdog":                          {nil, "done", life(now("failed", "failed", func(u *Unit) { u.Result = "watchdog" })), "watchdog", 0},
		"memory":                            {nil, "done", life(now("failed", "failed", func(u *Unit) { u.Result = "oom-kill" })), "memory ran out", 0},
		"resources":                         {nil, "failed", life(now("failed", "failed", func(u *Unit) { u.Result = "resources" })), "set up what it needs", 0},
		"protocol":                          {nil, "failed", life(now("failed", "failed", func(u *Unit) { u.Result = "protocol" })), "type in its unit file", 0},
		"dependency":                        {func(u *Unit) { u.Needs = []string{"web.service", "db.service"} }, "dependency", life(now("inactive", "dead", nil)), "could not be started (db.service)", 0},
		"job timeout":                       {nil, "timeout", life(now("inactive", "dead", nil)), "ran out of time", 0},
		"cancelled":                         {nil, "canceled", life(now("active", "running", nil)), "cancelled by another", 0},
		"assertion":                         {nil, "assert", life(now("inactive", "dead", nil)), "assertion", 0},
		"new result":                        {nil, "frozen", life(now("inactive", "dead", nil)), "ended with frozen", 0},
		"failed and on":                     {nil, "failed", life(now("active", "running", nil)), "as before", 0},
		"failed and off":                    {nil, "failed", life(now("inactive", "dead", nil)), "and is off", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			before := running("nginx.service")
			if c.before != nil {
				before = with(before, c.before)
			}
			f := machine(before, running("web.service"), with(running("db.service"), func(u *Unit) { u.Active = "failed" }))
			f.job, f.life, f.log = c.job, c.life, []string{"a", "b"}
			got, err := do(t.Context(), t, f, Options{})
			if code(err) != fault.RestartFailed || !strings.Contains(err.Error(), c.says) || got.Pending || len(got.Log) != 2 || got.Label != "nginx.service" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if err == nil || len(fix(err)) == 0 || !strings.HasSuffix(err.Error(), ".") || !strings.HasPrefix(err.Error(), "nginx.service ") {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Duration(got.TookMS) * time.Millisecond; took < c.took || took > c.took+sampleEvery {
				t.Errorf("%s took %v, want %v", name, took, c.took)
			}
		})
	}
}

func TestStartLimitSaysHowToLiftIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := machine(running("nginx.service"))
		f.job, f.life = "failed", []moment{{0, now("failed", "failed", func(u *Unit) { u.Result = "start-limit-hit" })}}
		got, err := do(t.Context(), t, f, Options{})
		if !strings.Contains(fix(err), "systemctl reset-failed nginx.service") || got.State.Result != "start-limit-hit" {
			t.Errorf("%v %+v", fix(err), got.State)
		}
	})
}

func TestRestartsThatDoNotSettle(t *testing.T) {
	for name, c := range map[string]struct {
		jobIn time.Duration
		life  []moment
		limit time.Duration
		says  string
	}{
		"job":     {-1, nil, 0, "has not settled within 40 s: it is deactivating (stop-sigterm)"},
		"service": {time.Second, []moment{{0, now("activating", "start", nil)}}, 0, "within 40 s: it is activating (start)"},
		"late":    {39 * time.Second, []moment{{0, now("active", "running", nil)}}, 0, "within 40 s"},
		"short":   {-1, nil, 3 * time.Second, "within 3 s: it is deactivating"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := machine(running("nginx.service"))
			f.job, f.jobIn, f.life, f.log, f.stops = "done", c.jobIn, c.life, []string{"a"}, time.Now().Add(time.Second)
			got, err := do(t.Context(), t, f, Options{Limit: c.limit})
			if code(err) != fault.Timeout || !strings.Contains(err.Error(), c.says) || !got.Pending || got.State.Active == "" || len(got.Log) != 1 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			synctest.Wait()
		})
	}
}

func TestCancelledRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := machine(running("nginx.service"))
		r, err := PlanRestart(ctx, f, Options{Name: "nginx"})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if got, err := r.Do(ctx); !errors.Is(err, context.Canceled) || got.Pending || f.calls["restart"] {
			t.Errorf("before: %+v, %v, %v", got, err, f.calls)
		}
	})
	for _, jobIn := range []time.Duration{-1, time.Second} { // while the job runs, while the service settles
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f := machine(running("nginx.service"))
			f.job, f.jobIn, f.life = "done", jobIn, []moment{{0, now("active", "running", nil)}}
			time.AfterFunc(2*time.Second, cancel)
			began := time.Now()
			got, err := do(ctx, t, f, Options{})
			if !errors.Is(err, context.Canceled) || !got.Pending || got.Label != "nginx.service" || time.Since(began) != 2*time.Second {
				t.Errorf("after %v: %+v, %v", time.Since(began), got, err)
			}
		})
	}
}

func TestRestartsThatAreNotQueued(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    fault.Code
		pending bool
	}{
		{ErrDenied, fault.PermissionDenied, false},
		{ErrNoUnit, fault.ServiceNotFound, false},
		{ErrMasked, fault.ServiceMasked, false},
		{ErrNoManual, fault.ProtectedService, false},
		{ErrBusy, fault.RestartFailed, false},
		{ErrRejected, fault.RestartFailed, false},
		{errors.New("connection closed"), fault.Unavailable, false},
		{context.DeadlineExceeded, fault.Unavailable, true},
	} {
		f := machine(running("nginx.service"))
		f.jobErr = fmt.Errorf("call: %w", c.err)
		got, err := do(t.Context(), t, f, Options{})
		if code(err) != c.code || got.Pending != c.pending || got.State.Active != "active" {
			t.Errorf("%v: %+v, %v", c.err, got, err)
		}
	}
}

func TestManagerThatStopsAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := machine(running("nginx.service"))
		f.job, f.jobIn, f.life = "done", time.Second, []moment{{0, now("active", "running", nil)}}
		began := time.Now()
		f.unitErr = func() error {
			if time.Since(began) > 2*time.Second {
				return errors.New("gone")
			}
			return nil
		}
		got, err := do(t.Context(), t, f, Options{})
		if code(err) != fault.Unavailable || !got.Pending || got.State.MainPID != 900 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestLogOfAFailureIsTame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := machine(running("nginx.service"))
		f.job, f.life = "done", []moment{{0, now("failed", "failed", exited(3))}}
		f.log = []string{"first", "\x1b[2Jclear\u202e", "db --password=hunter2", "", strings.Repeat("long ", 1000), "two\nlines", "\xff\xfe"}
		for i := range 10 {
			f.log = append(f.log, fmt.Sprint("line ", i))
		}
		got, _ := do(t.Context(), t, f, Options{})
		if len(got.Log) != 10 || got.Log[0] != "line 0" {
			t.Errorf("%q", got.Log)
		}
		f.log, f.started = f.log[:7], time.Time{}
		got, _ = do(t.Context(), t, f, Options{})
		all := strings.Join(got.Log, "")
		if len(got.Log) != 6 || strings.ContainsAny(all, "\x1b\n\u202e") || !utf8.ValidString(all) || strings.Contains(all, "hunter2") || len([]rune(got.Log[3])) > 300 {
			t.Errorf("%q", got.Log)
		}
	})
}

func TestARestartSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := machine(running("nginx.service"))
		f.job, f.jobIn, f.life = "done", time.Second, []moment{{0, now("active", "running", nil)}}
		var said []string
		ctx := progress.With(t.Context(), func(percent int, words string) { said = append(said, progress.Line(percent, words)) })
		if _, err := do(ctx, t, f, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(said, ""); got != "progress 25 restarting nginx.service\nprogress 60 started; seeing whether it stays up\n" {
			t.Errorf("%q", got)
		}
	})
}
