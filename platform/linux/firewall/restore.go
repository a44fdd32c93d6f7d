// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"fmt"
	"slices"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
)

// Restore puts the own rule set in place again, at boot or after another
// program has flushed it, and says whether it did. It does nothing when the owner has
// never switched it on, or has another firewall by now, and leaves alone what is whole.
func (m *Manager) Restore(ctx context.Context, source firewall.Source) (restored bool, err error) {
	ports, missing, err := m.missing(ctx, source)
	if err != nil || !missing {
		return false, err
	}
	if err := m.loadBesideFlows(ctx, ports); err != nil {
		return false, err
	}
	return true, nil
}

// loadBesideFlows puts the own rule set in place, and open connections go on: connection tracking has not
// seen those that began while no rule needed it.
func (m *Manager) loadBesideFlows(ctx context.Context, ports []firewall.Port) error {
	flows, _, err := m.flows(ctx)
	if err != nil {
		return fmt.Errorf("list the open connections: %w", err)
	}
	return m.rules.load(ports, flows)
}

// Missing says whether [Manager.Restore] would put the own rule set back. It
// changes nothing.
func (m *Manager) Missing(ctx context.Context, source firewall.Source) (bool, error) {
	_, missing, err := m.missing(ctx, source)
	return missing, err
}

// Kept reports whether the owner has switched the own rule set on, and it is to come back.
func (m *Manager) Kept() bool {
	_, present, err := m.state.read()
	return present || err != nil
}

// missing returns the ports that the definition lets in, and whether the kernel
// has other rules.
func (m *Manager) missing(ctx context.Context, source firewall.Source) ([]firewall.Port, bool, error) {
	ports, present, err := m.state.read()
	if err != nil || !present || m.superseded(ctx, source) {
		return nil, false, err
	}
	rules, ok, err := m.rules.loaded()
	if err == nil && !ok {
		err = m.letsSessionsIn(ctx, ports)
	}
	if err != nil {
		return nil, false, err
	}
	return ports, !ok || !whole(rules, ports) || !slices.Equal(allowedBy(rules), union(ports, nil)), nil
}

// letsSessionsIn refuses a definition that lacks a port of remote sessions, as one of a time before SSH
// moved: nobody is asked to confirm what is put back. An edit of the owner's takes effect nevertheless
// while the rules are loaded. What cannot be found out is no reason to let everything in.
func (m *Manager) letsSessionsIn(ctx context.Context, ports []firewall.Port) error {
	open, _ := m.OpenPorts(ctx) //nolint:errcheck // see above
	for _, p := range open.Remote {
		if shutsOut(open, ports, p) {
			return fault.New(fault.FirewallFailed, fmt.Sprintf("The firewall that sentinel had switched on is not put back: it would shut out remote sessions by %s, which %s does not let in.", p, m.state.path)).
				WithFix("Switch it on with them, for a trial: sudo sentinel --fix-firewall. If it is to stay off, remove " + m.state.path + ".")
		}
	}
	return nil
}

// shutsOut reports whether sessions at p would be shut out. A port at which an ordinary user listens is none of
// theirs: with what sshd forwards for a session, anybody could keep the rules from coming back.
func shutsOut(open firewall.OpenPorts, ports []firewall.Port, p firewall.Port) bool {
	return open.Servers[p] == 0 && !slices.Contains(ports, p)
}

// retire sets the own definition aside once it is kept that another manager is on, or is off: the own
// rule set would come back in its place, for a trial of nobody. It takes and returns what Keep of
// [firewall.Pending] does.
func (m *Manager) retire(lasting bool, remark string) (bool, string) {
	if !lasting {
		return false, remark
	}
	moved, err := m.state.setAside()
	switch {
	case err != nil:
		return false, err.Error()
	case moved:
		return true, "Sentinel's own firewall, which was on earlier, does not come back in its place: its ports are in " + m.state.path + setAsideSuffix + " now."
	}
	return true, remark
}

// superseded says that another firewall has taken over, whose openings the own
// rule set would close.
func (m *Manager) superseded(ctx context.Context, source firewall.Source) bool {
	if ufwEnabled(m.root) && m.installed(ufwProgram) {
		return true
	}
	if u := m.units.State(ctx, firewalldUnit); u.Active || u.Enabled {
		return true
	}
	facts := source.Firewall(ctx)
	facts.Chains = slices.DeleteFunc(facts.Chains, func(c firewall.Chain) bool { return c.Table == firewall.BaselineTable })
	return firewall.Assess(facts).State == firewall.Active
}
