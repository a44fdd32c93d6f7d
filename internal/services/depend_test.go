// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

func modelOf(claims map[string]sessions.Claim, pids map[int]sessions.Claim) func(context.Context) (*sessions.Model, error) {
	return func(context.Context) (*sessions.Model, error) {
		return &sessions.Model{Units: claims, Processes: pids}, nil
	}
}

// each looks at processes one by one.
func each(look func(Ending) (who, why string)) func(context.Context, []Ending, []int) (int, string, string, error) {
	return func(_ context.Context, list []Ending, _ []int) (int, string, string, error) {
		for _, e := range list {
			if who, why := look(e); why != "" {
				return e.PID, who, why, nil
			}
		}
		return 0, "", "", nil
	}
}

// What carries sessions or serves a file system is not restarted, whatever it is called, nor what
// would stop it along.
func TestWhatOthersDependOnIsNotRestarted(t *testing.T) {
	ann := sessions.Claim{Sessions: []*sessions.Session{{User: "ann"}}, How: "through relay (PID 12)"}
	listens := ann
	listens.Listens = true
	nginx := Unit{Name: "nginx.service", Service: true, Active: "active", Sub: "running", Group: "/system.slice/nginx.service", MainPID: 12}
	spares := nginx
	spares.SparesOthers = true
	carrier := nginx
	carrier.Carries = []string{"tunnel.service"}
	engine := nginx
	engine.HostedUnits = "docker-*.scope"
	tunnel := Unit{Name: "tunnel.service", Service: true, Active: "active", Sub: "running", Group: "/system.slice/tunnel.service", MainPID: 13}
	mounted := func(group string) func(context.Context) (map[string][]string, error) {
		return func(context.Context) (map[string][]string, error) {
			return map[string][]string{group: {"/srv/b", "/srv/a"}}, nil
		}
	}
	essential := each(func(e Ending) (who, why string) {
		return "", map[int]string{12: "the storage of this machine depends on it"}[e.PID]
	})
	for name, c := range map[string]struct {
		unit Unit
		on   Dependents
		why  string
	}{
		"nothing":                       {nginx, Dependents{}, ""},
		"a session":                     {nginx, Dependents{Sessions: modelOf(map[string]sessions.Claim{"nginx.service": ann}, nil)}, "it carries the session of ann, through relay (PID 12)"},
		"logins to come":                {nginx, Dependents{Sessions: modelOf(map[string]sessions.Claim{"nginx.service": listens}, nil)}, ""},
		"another unit":                  {nginx, Dependents{Sessions: modelOf(map[string]sessions.Claim{"other.service": ann}, nil)}, ""},
		"sessions go on":                {spares, Dependents{Sessions: modelOf(map[string]sessions.Claim{"nginx.service": ann}, map[int]sessions.Claim{99: ann})}, ""},
		"its main process has one":      {spares, Dependents{Sessions: modelOf(map[string]sessions.Claim{"nginx.service": ann}, map[int]sessions.Claim{12: ann})}, "it carries the session of ann"},
		"its main process elsewhere":    {nginx, Dependents{Sessions: modelOf(map[string]sessions.Claim{"session-3.scope": ann}, map[int]sessions.Claim{12: ann})}, "it carries the session of ann"},
		"its main process listens":      {nginx, Dependents{Sessions: modelOf(map[string]sessions.Claim{"nginx.service": listens}, map[int]sessions.Claim{12: listens})}, ""},
		"what goes with it has one":     {carrier, Dependents{Sessions: modelOf(map[string]sessions.Claim{"tunnel.service": ann}, nil)}, "its restart restarts tunnel.service as well, and it carries the session of ann"},
		"a container of it has one":     {engine, Dependents{Sessions: modelOf(map[string]sessions.Claim{"docker-4f.scope": ann}, nil)}, "it carries the session of ann"},
		"a service of a like name":      {engine, Dependents{Sessions: modelOf(map[string]sessions.Claim{"docker-x.service": ann}, nil)}, ""},
		"logins to come there":          {engine, Dependents{Sessions: modelOf(map[string]sessions.Claim{"docker-4f.scope": listens}, nil)}, ""},
		"containers that go on":         {nginx, Dependents{Sessions: modelOf(map[string]sessions.Claim{"docker-4f.scope": ann}, nil)}, ""},
		"a file system":                 {nginx, Dependents{Mounted: mounted("/system.slice/nginx.service/workers")}, `it serves the file system mounted at "/srv/a", "/srv/b"`},
		"a file system of another unit": {nginx, Dependents{Mounted: mounted("/system.slice/nginx.service2")}, ""},
		"the storage":                   {nginx, Dependents{Essential: essential}, "the storage of this machine depends on it"},
	} {
		f := &fake{units: map[string]Unit{"nginx.service": c.unit, "tunnel.service": tunnel}}
		plan := func(force bool) error {
			r, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Force: force, Dependents: c.on})
			if err == nil {
				r.Close()
			}
			return err
		}
		err := plan(false)
		if c.why == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: it may be restarted", name)
			continue
		}
		d, told := fault.From(err).Protects, fault.From(err).Protects != nil
		if told != strings.Contains(c.why, "session") || told && d.Sessions[0].User != "ann" {
			t.Errorf("%s: protects %+v", name, fault.From(err).Protects)
		}
		if refused := fault.From(err); refused.Code != fault.ProtectedService || !strings.Contains(refused.Message, c.why) || !strings.Contains(refused.Fix, "--force") {
			t.Errorf("%s: %v, want %s", name, err, c.why)
		}
		if err := plan(true); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
}

func TestWhatCannotBeReadMayDependOnIt(t *testing.T) {
	bad := errors.New("no process table")
	hidden := &sessions.Model{Gaps: []sessions.Gap{{Why: "who holds it is not known", Whose: sessions.Own, Skipped: &sessions.SkippedError{}}}}
	f := &fake{units: map[string]Unit{"nginx.service": {Name: "nginx.service", Service: true, Active: "active", MainPID: 12}}}
	for name, on := range map[string]Dependents{
		"sessions":     {Sessions: func(context.Context) (*sessions.Model, error) { return nil, bad }},
		"hidden":       {Sessions: func(context.Context) (*sessions.Model, error) { return hidden, nil }},
		"file systems": {Mounted: func(context.Context) (map[string][]string, error) { return nil, bad }},
		"process":      {Essential: func(context.Context, []Ending, []int) (pid int, who, why string, err error) { return 12, "", "", bad }},
	} {
		if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: on}); err == nil || fault.From(err).Code != fault.Unavailable || !errors.Is(err, bad) && !strings.Contains(err.Error(), hidden.Gaps[0].Why) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: on, Force: true}); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
}

// needed has a VPN, whose restart does as much harm as its end, and a name server and an SSH server, which are back
// after one. An SSH server that is known to carry a session is judged by that.
var needed = each(func(e Ending) (who, why string) {
	why = map[int]string{21: "it carries a tunnel", 22: "it answers for names", 23: "people reach this machine through it"}[e.PID]
	if e.PID != 21 && e.ComesBack || e.PID == 23 && e.Carries {
		why = ""
	}
	return fmt.Sprintf("\"child\" (PID %d)", e.PID), why
})

// What matters may be any process of a unit, and is lost for longer where nothing starts it again.
func TestEveryProcessThatEndsIsLookedAt(t *testing.T) {
	back := func(u *Unit) { u.MayRestart, u.BackAfterKill = true, true }
	oneshot := func(u *Unit) { u.MainPID, u.Type = 0, "oneshot" }
	spares := func(u *Unit) { u.SparesOthers = true }
	for name, c := range map[string]struct {
		change   func(*Unit)
		pid      int
		restarts string // "" where it may be restarted
		graceful string // and so for the end of its main process
		killed   string
	}{
		"nothing":                     {unchangedUnit, 20, "", "", ""},
		"a VPN":                       {unchangedUnit, 21, "it carries a tunnel", "it carries a tunnel", "it carries a tunnel"},
		"a VPN that comes back":       {back, 21, "it carries a tunnel", "it carries a tunnel", "it carries a tunnel"},
		"a VPN that goes on":          {spares, 21, "", "", ""},
		"names":                       {unchangedUnit, 22, "", "it answers for names", "it answers for names"},
		"names that come back":        {back, 22, "", "it answers for names", ""},
		"names of a oneshot":          {oneshot, 22, "it answers for names", "it answers for names", "it answers for names"},
		"names of a script":           {func(u *Unit) { u.MainPID, u.Type, u.StaysExited = 0, "forking", true }, 22, "it answers for names", "it answers for names", "it answers for names"},
		"names of a daemon by itself": {func(u *Unit) { u.MainPID, u.Type = 0, "forking" }, 22, "", "it answers for names", "it answers for names"},
		"names that stay on":          {func(u *Unit) { u.StaysExited = true }, 22, "", "it answers for names", "it answers for names"},
		"names that hang":             {func(u *Unit) { u.BackAfterTerm = true }, 22, "", "it answers for names", "it answers for names"},
		"logins":                      {unchangedUnit, 23, "", "people reach this machine through it", "people reach this machine through it"},
		"a unit that is gone by now":  {func(u *Unit) { u.Group = "gone" }, 21, "", "", ""},
	} {
		f := machine(with(running("nginx.service"), c.change))
		f.uses = []Use{{PIDs: []int{812, c.pid}}}
		if f.units["nginx.service"].Group == "gone" {
			f.uses, f.useErr = nil, fs.ErrNotExist
		}
		if f.units["nginx.service"].MainPID == 0 {
			f.uses = []Use{{PIDs: []int{c.pid}}}
		}
		_, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: Dependents{Essential: needed}})
		lostChild(t, name+", restarted", err, c.restarts)
		for graceful, want := range map[bool]string{true: c.graceful, false: c.killed} {
			_, err = checkEnd(t, f, func(e *End) { e.Essential, e.Graceful = needed, graceful })
			lostChild(t, fmt.Sprintf("%s, ended, graceful %v", name, graceful), err, want)
		}
	}
}

func unchangedUnit(*Unit) {}

// lostChild checks that a refusal names the process that would be lost.
func lostChild(t *testing.T, name string, err error, why string) {
	t.Helper()
	if (err == nil) != (why == "") || err != nil && (!strings.Contains(err.Error(), `it runs "child" (PID 2`) || !strings.Contains(err.Error(), "), which must not end: "+why)) {
		t.Errorf("%s: %v, want %q", name, err, why)
	}
}

// What is stopped along stays off, what is restarted along does not.
func TestWhatGoesAlongForGoodIsJudgedAsAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Unit)
		why    string
	}{
		"conflicts": {func(u *Unit) { u.Stops = []string{"dns.service"} }, "its restart stops dns.service as well, and it answers for names"},
		"requires":  {func(u *Unit) { u.Carries = []string{"dns.service"} }, ""},
	} {
		f := machine(with(running("nginx.service"), c.change), with(running("dns.service"), func(u *Unit) { u.MainPID = 22 }))
		_, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: Dependents{Essential: needed}})
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := machine(with(running("nginx.service"), func(u *Unit) { u.BoundTo = []string{"dns.service"} }), with(running("dns.service"), func(u *Unit) { u.MainPID = 22 }))
	if _, err := checkEnd(t, f, func(e *End) { e.Essential = needed }); err == nil || !strings.Contains(err.Error(), "the end of nginx.service stops dns.service as well, and it answers for names") {
		t.Errorf("bound: %v", err)
	}
}

// A session that may end is no reason to end what else is in its unit.
func TestAnAgreedSessionCoversNothingElse(t *testing.T) {
	ann := sessions.Claim{Sessions: []*sessions.Session{{User: "ann"}}}
	for pid, refused := range map[int]bool{22: true, 23: false} {
		f := machine(running("nginx.service"))
		f.uses = []Use{{PIDs: []int{812, pid}}}
		_, err := checkEnd(t, f, func(e *End) {
			e.Carries, e.Essential = true, needed
			e.Sessions = modelOf(map[string]sessions.Claim{"nginx.service": ann}, map[int]sessions.Claim{812: ann, 23: ann})
		})
		if (err != nil) != refused {
			t.Errorf("%d: %v", pid, err)
		}
	}
}

// Logins to come are lost where the service that takes them stays off, unless anybody may have made it.
func TestLoginsToComeAreLostForGood(t *testing.T) {
	for _, c := range []struct {
		untrusted, back, agreed, refused bool
	}{{refused: true}, {agreed: true, refused: true}, {untrusted: true}, {back: true}} {
		f := machine(with(running("nginx.service"), func(u *Unit) { u.BackAfterKill = c.back }))
		listens := sessions.Claim{Sessions: []*sessions.Session{{User: "ann"}}, Listens: true, Untrusted: c.untrusted}
		_, err := checkEnd(t, f, func(e *End) {
			e.Carries = c.agreed
			e.Sessions = modelOf(map[string]sessions.Claim{"nginx.service": listens}, nil)
		})
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "people log in through it") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// As many processes as somebody likes can be in a unit, and those of the service come first.
func TestProcessesOfAUnitAreLookedAtWithinBounds(t *testing.T) {
	f := machine(running("nginx.service"))
	many := []int{812}
	for i := range 4000 {
		many = append(many, 1000+i)
	}
	f.uses = []Use{{PIDs: many}}
	looked := []int{}
	count := each(func(e Ending) (who, why string) {
		looked = append(looked, e.PID)
		return "", ""
	})
	if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: Dependents{Essential: count}}); err != nil || !slices.Equal(looked, many[:maxEnding]) {
		t.Errorf("%v, looked at %d", err, len(looked))
	}
}

// What matters only together with others is told which end at the same time: those beyond the bound, the one that was
// judged before, and those of units that go along.
func TestWhatEndsAtTheSameTimeIsTold(t *testing.T) {
	f := machine(with(running("nginx.service"), func(u *Unit) { u.Carries = []string{"dns.service"} }), with(running("dns.service"), func(u *Unit) { u.MainPID = 22 }))
	many := []int{812}
	for i := range maxEnding {
		many = append(many, 1000+i)
	}
	f.uses = []Use{{PIDs: many}}
	told := [][]int{}
	count := func(_ context.Context, _ []Ending, along []int) (int, string, string, error) {
		told = append(told, along)
		return 0, "", "", nil
	}
	if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: Dependents{Essential: count}}); err != nil || len(told) != 2 {
		t.Fatal(err, told)
	}
	if beyond := many[maxEnding:]; !slices.Equal(told[0], beyond) || !slices.Equal(told[1][:len(many)], many) {
		t.Errorf("restarted: %v", told)
	}
	told, f.uses = nil, []Use{{PIDs: []int{812, 813}}}
	if _, err := checkEnd(t, f, func(e *End) { e.Essential = count }); err != nil || len(told) == 0 || !slices.Equal(told[0], []int{812}) {
		t.Errorf("ended: %v, %v", err, told)
	}
}

// The process that is to be ended has been judged before its service is.
func TestTheProcessThatEndsIsJudgedOnce(t *testing.T) {
	f := machine(running("nginx.service"))
	f.uses = []Use{{PIDs: []int{812, 813}}}
	looked := []int{}
	count := each(func(e Ending) (who, why string) {
		looked = append(looked, e.PID)
		return "", ""
	})
	if _, err := checkEnd(t, f, func(e *End) { e.Essential = count }); err != nil || !slices.Equal(looked, []int{813}) {
		t.Errorf("%v, looked at %v", err, looked)
	}
}
