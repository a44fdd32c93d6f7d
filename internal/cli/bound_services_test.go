// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"sentinel/internal/config"
	"sentinel/internal/host"
	"sentinel/internal/ops"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/internal/sessions"
)

// A shop is a service manager with cache.service, and what goes with it.
type shop struct {
	services.Manager
	carries, bound []string
}

func (shop) Kind() *services.Kind {
	return &services.Kind{
		Name: "systemd", CheckName: func(typed string) (string, error) { return typed, nil },
		BareName: func(name string) string { return strings.TrimSuffix(name, ".service") },
	}
}

func (s shop) Open(context.Context) (services.Manager, error) { return s, nil }

func (shop) Close() {}

func (shop) Ancestry() (services.Ancestry, error) { return services.Ancestry{}, nil }

func (shop) TestConfiguration(context.Context, services.Unit) *services.ConfigTest { return nil }

func (shop) Obstacles(context.Context, services.Unit) ([]services.Obstacle, error) { return nil, nil }

func (shop) Use(context.Context, services.Unit) (services.Use, error) { return services.Use{}, nil }

func (s shop) Unit(_ context.Context, name string) (services.Unit, error) {
	u := services.Unit{Name: name, Names: []string{name}, Service: true, Active: "active", Sub: "running"}
	if name == "cache.service" {
		u.MainPID, u.Carries, u.BoundTo = 4242, s.carries, s.bound
	}
	return u, nil
}

// A worker is a process of cache.service.
type worker struct{ carrier }

func (w worker) Pin(int) (processes.Pinned, error) { return w, nil }

func (worker) Facts(context.Context) (processes.Facts, error) {
	return processes.Facts{Name: "cached", Start: "1.2", Unit: processes.Unit{Name: "cache.service", Service: true}}, nil
}

func (worker) Sessions(context.Context) (*sessions.Model, error) { return &sessions.Model{}, nil }

func (worker) RestartPolicy(context.Context, string) (processes.RestartPolicy, error) {
	return processes.RestartPolicy{MainPID: 4242, OnKill: processes.StaysAway}, nil
}

// planOf is what a tool would do to cache.service.
func (s shop) planOf(t *testing.T, tool string) (change, string) {
	t.Helper()
	op, _ := ops.ByName(tool)
	plan := planRestart
	if tool == "terminate_process" {
		plan = planTermination
	}
	got, err := plan(t.Context(), session{config: config.Default(), host: &host.Host{Services: s, Terminator: worker{}}},
		invocation{op: op, args: ops.Arguments{"pid": int64(4242), "service": "cache.service"}})
	if err != nil {
		t.Fatal(err)
	}
	return got, got.fingerprint(op)
}

// Who agreed to the restart or the end of a service has not agreed to that of others besides.
func TestAYesIsBoundToTheUnitsThatGoWithAService(t *testing.T) {
	agreed := shop{carries: []string{"shop.service"}, bound: []string{"till.service"}}
	other := shop{carries: []string{"shop.service", "mail.service"}, bound: []string{"mail.service", "till.service"}}
	for tool, c := range map[string]struct{ would, preview string }{
		"restart_service":   {"cache.service (active, running, main PID 4242) would be restarted. It also restarts shop.service.", `"label":"cache.service","also_restarts":["shop.service"],"also_total":1`},
		"terminate_process": {`"cached" (PID 4242) would be sent SIGKILL. Its end also stops till.service.`, `"unit":"cache.service","also_stops":["till.service"],"also_total":1`},
	} {
		got, first := agreed.planOf(t, tool)
		raw, err := json.Marshal(got.preview)
		if err != nil || got.would != c.would || !strings.Contains(string(raw), c.preview) {
			t.Errorf("%s: %q, %s, %v", tool, got.would, raw, err)
		}
		if _, same := agreed.planOf(t, tool); same != first {
			t.Errorf("%s: the same has another fingerprint", tool)
		}
		if _, changed := other.planOf(t, tool); changed == first {
			t.Errorf("%s: another set of units has the same fingerprint", tool)
		}
	}
}
