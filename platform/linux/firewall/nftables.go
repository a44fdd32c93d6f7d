// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sentinel/internal/answer"
	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/platform/linux/conntrack"
)

// RestoreUnit is the shipped unit that puts the own rule set in place at boot.
const RestoreUnit = "sentinel-restore.service"

// maxFlows bounds how many open connections are noted. Of each the kernel keeps some
// 200 bytes until it has ended or a day has passed.
const maxFlows = 50_000

// An ownRuleset is the rule set of sentinel itself, in nftables.
type ownRuleset struct {
	m      *Manager
	change firewall.Change
	kept   []firewall.Port // of the definition
	untaken
}

var (
	_ firewall.Backend   = (*ownRuleset)(nil)
	_ firewall.Forgetful = (*ownRuleset)(nil)
)

// Name implements [firewall.Backend].
func (*ownRuleset) Name() string { return firewall.Nftables }

// Rules implements [firewall.Backend]. What the owner has added to the
// definition stays open.
func (b *ownRuleset) Rules(context.Context) (firewall.Rules, error) {
	ports, _, err := b.m.state.read()
	return firewall.Rules{For: func(p firewall.Port) firewall.Ruling {
		if slices.Contains(ports, p) {
			return firewall.Ruling{Verdict: firewall.Open}
		}
		return firewall.Ruling{}
	}}, err
}

// Enable implements [firewall.Backend]. The rules are in the kernel alone, and a
// reboot takes them away.
func (b *ownRuleset) Enable(ctx context.Context, ports []firewall.Port, note func(firewall.Change) error) (err error) {
	if b.kept, _, err = b.m.state.read(); err != nil {
		return err
	}
	all := union(ports, b.kept)
	if err := fits(all); err != nil {
		return err
	}
	flows, more, err := b.m.flows(ctx)
	b.left = more
	if err != nil {
		return fmt.Errorf("list the open connections: %w", err)
	}
	c := firewall.Change{Manager: firewall.Nftables, Openings: openings(ports)}
	if err := note(c); err != nil {
		return err
	}
	b.change = c
	return b.m.rules.load(all, flows)
}

// union returns the ports of both, each once, in order.
func union(a, b []firewall.Port) []firewall.Port {
	all := slices.Concat(a, b)
	slices.SortFunc(all, firewall.Port.Compare)
	return slices.Compact(all)
}

// nobody is the owner of a connection whose program has closed it: the kernel counts it as root's.
const nobody = -1

// flows lists open TCP connections with other hosts, and counts those beyond the bound. Users have theirs in turn: anybody
// can make so many that others have no place.
func (m *Manager) flows(ctx context.Context) (list []conntrack.Connection, more int, err error) {
	seen, of := map[conntrack.Connection]int{}, map[int]int{}
	err = m.sockets.network.Sockets(ctx, func(s network.Socket) {
		f, owner := conntrack.Connection{Local: s.Local, Remote: s.Remote}, s.UID
		if s.ID == 0 {
			owner = nobody
		}
		_, twice := seen[f]
		switch {
		case s.Protocol != network.TCP || !carries(s) || twice:
		case of[owner] < maxFlows:
			seen[f] = owner
			of[owner]++
			list = append(list, f)
		default:
			more++
		}
	})
	list = answer.InTurn(list, func(f conntrack.Connection) int { return seen[f] })
	if beyond := len(list) - maxFlows; beyond > 0 {
		list, more = slices.Clip(list[:maxFlows]), more+beyond
	}
	return list, more, err
}

// carries says whether packets of a connection still come in from another host. All firewalls here let in what comes over lo.
func carries(s network.Socket) bool {
	if s.Internal || s.Remote.Addr().IsLoopback() || !s.Remote.IsValid() || s.Remote.Port() == 0 {
		return false
	}
	switch s.State {
	case network.Established, network.CloseWait, network.FinWait1, network.FinWait2, network.LastAck, network.Closing:
		return true
	}
	return false
}

// Admits implements [firewall.Backend].
func (b *ownRuleset) Admits(_ context.Context, ports []firewall.Port) error {
	rules, ok, err := b.m.rules.loaded()
	if err != nil {
		return err
	}
	if !ok || !whole(rules, union(ports, b.kept)) {
		return errors.New("the rules that were loaded are not those that the kernel shows")
	}
	return nil
}

// InForce implements [firewall.Resumed].
func (b *ownRuleset) InForce(context.Context) error {
	have, ok, err := b.m.rules.loaded()
	if err != nil {
		return err
	}
	allowed := allowedBy(have)
	closed := slices.ContainsFunc(portsIn(b.change.Openings), func(p firewall.Port) bool { return !slices.Contains(allowed, p) })
	if !ok || closed {
		return errors.New("the rules that were loaded are not those that the kernel shows")
	}
	return nil
}

// Keep implements [firewall.Backend]. It adds the ports of the change to the definition, whose owner may
// have edited it meanwhile; where there is none, it writes down what the loaded rules let in.
func (b *ownRuleset) Keep(ctx context.Context) (bool, string) {
	rules, ok, err := b.m.rules.loaded()
	if err != nil || !ok {
		return false, "the rules cannot be read back"
	}
	kept, had, err := b.m.state.read()
	if err != nil {
		return false, err.Error()
	}
	ports := allowedBy(rules)
	if had {
		ports = union(kept, portsIn(b.change.Openings))
	}
	if !had || len(ports) > len(union(kept, nil)) {
		if err := b.m.state.write(ports); err != nil {
			return false, err.Error()
		}
	}
	if !b.m.units.Running() {
		return false, "systemd does not run here; run sentinel --restore-blocklist at boot"
	}
	return b.m.startAtBoot(ctx, RestoreUnit)
}

// Undo implements [firewall.Backend].
func (b *ownRuleset) Undo(context.Context) error {
	if b.change.Manager == "" {
		return nil
	}
	return b.m.rules.unload()
}
