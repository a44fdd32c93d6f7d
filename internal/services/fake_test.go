// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// A fake is a service manager of tables. Its clock is that of the test.
type fake struct {
	units  map[string]Unit
	own    Ancestry
	log    []string
	posed  bool // others than the service wrote log
	logErr error
	tested *ConfigTest

	obstacles   []Obstacle
	obstacleErr error

	suspects [][]string
	unseen   int
	uses     []Use // in turn; the last one stays
	useErr   error
	first    time.Time
	openErr  error
	unitErr  func() error
	silent   string // the unit that cannot be read
	jobErr   error

	job     string          // result, after jobIn
	jobIn   time.Duration   // never when negative
	life    []moment        // of the service after its restart, from the job on
	started time.Time       // when the job ended
	stops   time.Time       // when a service that is on is stopping, unless zero
	read    int             // units read
	calls   map[string]bool // what was called
}

// A moment is a unit from some time after its job on.
type moment struct {
	at   time.Duration
	unit Unit
}

func (f *fake) called(what string) {
	if f.calls == nil {
		f.calls = map[string]bool{}
	}
	f.calls[what] = true
}

// kind is a service manager with one rule or two of each sort.
var kind = Kind{
	Name:     "systemd",
	Vanished: "is gone",
	CheckName: func(typed string) (string, error) {
		if typed == "" {
			return "", fault.New(fault.InvalidService, "It is empty.")
		}
		return bareName(typed) + suffix, nil
	},
	BareName:   bareName,
	ShortForms: func(name string) []string { return []string{bareName(name)} },
	Rules: slices.Concat(
		Liftable("the session may depend on it", "ssh", "sshd", "dbus*"),
		Final("it is a part of the service manager", "systemd-*"),
		Final("it ends the system", "reboot*", "*-shutdown"),
	),
	Signals:    map[int]string{9: "SIGKILL", 11: "SIGSEGV"},
	Exits:      map[int]string{203: "its program is missing"},
	CrashGrace: 10 * time.Second,
	Shutdown: Shutdown{
		Units:    []string{"reboot.target", "shutdown.target", "poweroff.target", "runlevel[016].target", "systemd-suspend.service", "reboot*.service"},
		Programs: []string{"systemctl"},
		Verbs:    []string{"isolate", "reboot", "suspend"},
	},
	Essential:     []string{"sysinit.target", "basic.target"},
	AlwaysStarted: "sysinit.target",
	Starters:      []string{".target", suffix},
	Commands: Commands{
		Alive: "systemctl is-system-running", Loaded: "systemctl list-units", All: "systemctl list-unit-files", Queue: "systemctl list-jobs",
		Status: "systemctl status", Verify: "systemd-analyze verify", ResetFailed: "systemctl reset-failed",
	},
}

const suffix = ".service"

func bareName(name string) string { return strings.TrimSuffix(name, suffix) }

func (f *fake) Kind() *Kind { return &kind }

func (f *fake) Open(context.Context) (Manager, error) {
	f.called("open")
	return f, f.openErr
}

func (f *fake) fails(ctx context.Context) error {
	if f.unitErr == nil {
		return ctx.Err()
	}
	return errors.Join(ctx.Err(), f.unitErr())
}

func (f *fake) Unit(ctx context.Context, name string) (Unit, error) {
	if err := f.fails(ctx); err != nil {
		return Unit{}, err
	}
	if f.read++; name == f.silent {
		return Unit{}, errors.New("it does not answer")
	}
	u, ok := f.units[name]
	if !ok {
		return Unit{Name: name, Missing: true, Active: "inactive"}, nil
	}
	if !f.stops.IsZero() && time.Now().After(f.stops) {
		u.Active, u.Sub = "deactivating", "stop-sigterm"
	}
	for _, m := range f.life {
		if !f.started.IsZero() && name == "nginx.service" && time.Since(f.started) >= m.at {
			u = m.unit
		}
	}
	return u, nil
}

func (f *fake) Names(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(f.units)), nil
}

func (f *fake) Ancestry() (Ancestry, error) { return f.own, nil }

func (f *fake) Restart(ctx context.Context, _ string, _ []string) (<-chan string, error) {
	f.called("restart")
	if f.jobErr != nil {
		return nil, f.jobErr
	}
	done := make(chan string, 1)
	if f.jobIn < 0 {
		return done, ctx.Err()
	}
	go func() {
		pause(ctx, f.jobIn)
		f.started = time.Now()
		done <- f.job
	}()
	return done, ctx.Err()
}

func (f *fake) Log(context.Context, Unit, time.Time, int) ([]LogLine, error) {
	var lines []LogLine
	for _, text := range f.log {
		lines = append(lines, LogLine{Text: text, Foreign: f.posed})
	}
	return lines, f.logErr
}

func (f *fake) TestConfiguration(context.Context, Unit) *ConfigTest {
	f.called("test")
	return f.tested
}

func (f *fake) Obstacles(context.Context, Unit) ([]Obstacle, error) {
	return f.obstacles, f.obstacleErr
}

func (f *fake) Suspects(context.Context) ([][]string, int, error) {
	return f.suspects, f.unseen, f.unitError()
}

func (f *fake) Use(context.Context, Unit) (Use, error) {
	if len(f.uses) == 0 {
		return Use{}, f.useErr
	}
	use := f.uses[0]
	if len(f.uses) > 1 {
		f.uses = f.uses[1:]
	}
	return use, nil
}

func (f *fake) FirstRestart(context.Context, string) (time.Time, error) { return f.first, nil }

func (f *fake) unitError() error {
	if f.unitErr == nil {
		return nil
	}
	return f.unitErr()
}

func (f *fake) Close() { f.called("close") }

// running is a service that is on, and nothing besides.
func running(name string) Unit {
	return Unit{
		Name: name, Names: []string{name}, Service: true, Active: "active", Sub: "running", Type: "simple",
		Result: "success", MainPID: 812, Group: "/system.slice/" + name, Starts: []string{"sysinit.target", "system.slice"}, Stops: []string{"shutdown.target"},
		Actions: []string{"none", "none"},
	}
}

// with returns a unit with something changed.
func with(u Unit, change func(*Unit)) Unit {
	change(&u)
	return u
}

// machine has some units besides nginx.
func machine(nginx Unit, others ...Unit) *fake {
	f := &fake{units: map[string]Unit{"nginx.service": nginx}, own: Ancestry{PIDs: []int{900, 890}, Groups: []string{"/user.slice/a.scope", "/user.slice/a.scope"}}}
	for _, u := range others {
		f.units[u.Name] = u
	}
	return f
}

// planned plans a restart of nginx; the text is what it says would happen, or why not.
func planned(t *testing.T, f *fake, force bool) (text string, err error) {
	t.Helper()
	r, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Force: force})
	if err != nil {
		return err.Error(), err
	}
	return r.Summary(), nil
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

func fix(err error) string { return fault.NewDocument("restart_service", err).Fix }
