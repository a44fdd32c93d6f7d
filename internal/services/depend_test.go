// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
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
	essential := func(_ context.Context, pid int) (string, error) {
		return map[int]string{12: "the storage of this machine depends on it"}[pid], nil
	}
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
		"process":      {Essential: func(context.Context, int) (string, error) { return "", bad }},
	} {
		if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: on}); err == nil || fault.From(err).Code != fault.Unavailable || !errors.Is(err, bad) && !strings.Contains(err.Error(), hidden.Gaps[0].Why) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Dependents: on, Force: true}); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
}
