// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"sentinel/internal/blocklist"
	"sentinel/internal/config"
	"sentinel/internal/firewall"
	"sentinel/internal/host"
	"sentinel/internal/ops"
	"sentinel/internal/processes"
	"sentinel/internal/sessions"
)

// carriedBy is a claim of sessions of others, each of a user at 203.0.113.8.
func carriedBy(users ...string) (c sessions.Claim) {
	for _, user := range users {
		c.Sessions = append(c.Sessions, &sessions.Session{User: user, From: []netip.Addr{netip.MustParseAddr("203.0.113.8")}})
	}
	return c
}

// A carrier is a process that carries sessions, and an address that they come from.
type carrier struct {
	processes.TerminationSource
	processes.Pinned
	costlyFilter
	claim  sessions.Claim
	served []processes.Served
}

func (carrier) Close() error { return nil }

func (carrier) Probe() error { return nil }

func (c carrier) Pin(int) (processes.Pinned, error) { return c, nil }

func (c carrier) Facts(context.Context) (processes.Facts, error) {
	return processes.Facts{Name: "ttyd", Start: "1.2", Served: c.served}, nil
}

func (carrier) Holdings(context.Context, map[int]*processes.Facts, []int, bool) {}

func (carrier) Critical() []processes.CriticalRule { return nil }

func (carrier) Lineage(context.Context) ([]processes.Relative, error) { return nil, nil }

func (carrier) Below(context.Context, int) ([]processes.Relative, error) { return nil, nil }

func (c carrier) Sessions(context.Context) (*sessions.Model, error) {
	return &sessions.Model{Processes: map[int]sessions.Claim{4242: c.claim}}, nil
}

func (c carrier) ProtectedAddrs(context.Context) ([]blocklist.ProtectedAddr, error) {
	return blocklist.ProtectSessions(&sessions.Model{Addresses: map[netip.Addr]sessions.Claim{netip.MustParseAddr("203.0.113.8"): c.claim}})
}

// planOf is the fingerprint of what a tool would do on a machine.
func (c carrier) planOf(t *testing.T, tool string) string {
	t.Helper()
	op, _ := ops.ByName(tool)
	s := session{config: config.Default(), stateDir: t.TempDir(), host: &host.Host{Terminator: c, Blocklist: host.Blocklist{
		Backend: func(context.Context) (blocklist.Backend, error) { return c.costlyFilter, nil }, Context: c,
	}}}
	plan := planBlock
	if tool == "terminate_process" {
		plan = planTermination
	}
	got, err := plan(t.Context(), s, invocation{op: op, args: ops.Arguments{"pid": int64(4242), "ip": "203.0.113.8", "end_session": true}})
	if err != nil {
		t.Fatal(err)
	}
	return got.fingerprint(op)
}

// Who agreed to the end of one session has not agreed to that of another. What whoever is to be ended
// can change without a login is no way out.
func TestAYesIsBoundToTheSessionsThatEnd(t *testing.T) {
	agreed := carrier{claim: carriedBy("mallory")}
	elsewhere := carriedBy("mallory")
	elsewhere.Sessions[0].From = []netip.Addr{netip.MustParseAddr("203.0.113.9")}
	again := carriedBy("mallory", "mallory")
	again.Sessions[1].Terminal = "pts/9"
	for name, c := range map[string]struct {
		now  carrier
		tool string
		same bool
	}{
		"another's beside it":       {carrier{claim: carriedBy("mallory", "ann")}, "terminate_process", false},
		"another's instead":         {carrier{claim: carriedBy("ann")}, "terminate_process", false},
		"from elsewhere":            {carrier{claim: elsewhere}, "terminate_process", false},
		"one more of the same":      {carrier{claim: again}, "terminate_process", true},
		"a mount of the user's":     {carrier{claim: agreed.claim, served: []processes.Served{{Point: "/home/mallory/x"}}}, "terminate_process", true},
		"another's at an address":   {carrier{claim: carriedBy("ann", "mallory")}, "block_ip_address", false},
		"the same at an address":    {carrier{claim: again}, "block_ip_address", true},
		"the first block has costs": {carrier{claim: agreed.claim, costlyFilter: costlyFilter{cost: "The relay goes off."}}, "block_ip_address", false},
	} {
		if same := c.now.planOf(t, c.tool) == agreed.planOf(t, c.tool); same != c.same {
			t.Errorf("%s: the same plan: %v", name, same)
		}
	}
}

// An ufw is on, and lasts.
type ufw struct{}

func (ufw) Firewall(context.Context) firewall.Facts {
	return firewall.Facts{Managers: []string{firewall.UFW}, Unreadable: errors.New("not as this user")}
}

func (ufw) Backend(context.Context) (firewall.Backend, error) { return nil, errors.New("not asked") }

func (ufw) OpenPorts(context.Context) (firewall.OpenPorts, error) { return firewall.OpenPorts{}, nil }

func (ufw) Loaded(string) (firewall.Loaded, error) { return loadedUFW{}, nil }

type loadedUFW struct{ firewall.Loaded }

func (loadedUFW) Name() string { return firewall.UFW }

func (loadedUFW) Rules(context.Context) (firewall.Rules, error) { return firewall.Rules{}, nil }

// A firewall on trial may be confirmed between the question and the answer.
func TestAYesToTheEndOfATrialSwitchesNoFirewallOff(t *testing.T) {
	s, call, _ := restoring(t, "9999999999")
	call.op, _ = ops.ByName("disable_firewall")
	s.host.Firewall, s.host.FirewallManager = ufw{}, ufw{}
	asked, err := planDisableFirewall(t.Context(), s, call)
	if err != nil || asked.would != "The trial of the firewall (ufw) would be ended: it would be taken back now." {
		t.Fatalf("%q, %v", asked.would, err)
	}
	if err := os.Remove(filepath.Join(s.stateDir, trialName)); err != nil {
		t.Fatal(err)
	}
	confirmed, err := planDisableFirewall(t.Context(), s, call)
	if err != nil || asked.fingerprint(call.op) == confirmed.fingerprint(call.op) {
		t.Errorf("%q has the same fingerprint, %v", confirmed.would, err)
	}
}
