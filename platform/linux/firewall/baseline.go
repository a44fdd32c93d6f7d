// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
)

// RestoreUnit is the shipped unit that puts the own rule set in place at boot.
const RestoreUnit = "sentinel-restore.service"

// maxFlows bounds how many open connections are noted; more do not fit into one
// transaction.
const maxFlows = 1000

// A baseline is the rule set of sentinel itself, in nftables.
type baseline struct {
	w       *Manager
	loaded  bool
	written bool
	before  []firewall.Port // of the state file
	had     bool            // there was a state file
	unit    bool            // enabled at boot by us
}

var _ firewall.Backend = (*baseline)(nil)

// Name implements [firewall.Backend].
func (*baseline) Name() string { return firewall.Nftables }

// Rules implements [firewall.Backend]. What the owner has added to the
// definition stays open.
func (b *baseline) Rules(context.Context, []netip.Addr) (firewall.Rules, error) {
	ports, _, err := b.w.state.read()
	if err != nil {
		return nil, err
	}
	return func(p firewall.Port) firewall.Ruling {
		if slices.Contains(ports, p) {
			return firewall.Ruling{Verdict: firewall.Open}
		}
		return firewall.Ruling{}
	}, nil
}

// Enable implements [firewall.Backend].
func (b *baseline) Enable(ctx context.Context, ports []firewall.Port) error {
	kept, had, err := b.w.state.read()
	if err != nil {
		return err
	}
	b.before, b.had = kept, had
	flows, err := b.w.flows(ctx)
	if err != nil {
		return fmt.Errorf("list the open connections: %w", err)
	}
	if err := load(union(ports, kept), flows); err != nil {
		return err
	}
	b.loaded = true
	return nil
}

// union returns the ports of both, each once, in order.
func union(a, b []firewall.Port) []firewall.Port {
	all := slices.Concat(a, b)
	slices.SortFunc(all, firewall.Port.Compare)
	return slices.Compact(all)
}

// flows lists open TCP connections with other hosts.
func (w *Manager) flows(ctx context.Context) ([]flow, error) {
	var list []flow
	seen := map[flow]bool{}
	err := w.sockets.network.Sockets(ctx, func(s network.Socket) {
		f := flow{remote: s.Remote, port: s.Local.Port()}
		if s.Protocol != network.TCP || !carries(s) || len(list) >= maxFlows || seen[f] {
			return
		}
		seen[f] = true
		list = append(list, f)
	})
	return list, err
}

// carries says whether packets of a connection still come in.
func carries(s network.Socket) bool {
	if s.Remote.Addr().IsLoopback() || !s.Remote.IsValid() || s.Remote.Port() == 0 {
		return false
	}
	switch s.State {
	case network.Established, network.CloseWait, network.FinWait1, network.FinWait2, network.LastAck, network.Closing:
		return true
	}
	return false
}

// Admits implements [firewall.Backend].
func (b *baseline) Admits(_ context.Context, ports []firewall.Port, _ []netip.Addr) error {
	rules, ok, err := loaded()
	if err != nil {
		return err
	}
	if !ok || !whole(rules, union(ports, b.before)) {
		return errors.New("the rules that were loaded are not those that the kernel shows")
	}
	return nil
}

// Keep implements [firewall.Backend]. It writes down the ports that the loaded
// rules let in.
func (b *baseline) Keep(ctx context.Context) (bool, string) {
	rules, ok, err := loaded()
	if err != nil || !ok {
		return false, "the rules cannot be read back"
	}
	kept, had, err := b.w.state.read()
	if err != nil {
		return false, err.Error()
	}
	ports := allowedBy(rules)
	if !had || !slices.Equal(ports, kept) {
		b.written = true
		if err := b.w.state.write(ports); err != nil {
			return false, err.Error()
		}
	}
	return b.atBoot(ctx)
}

// atBoot makes sure that the shipped unit is enabled.
func (b *baseline) atBoot(ctx context.Context) (bool, string) {
	if !b.w.units.running() {
		return false, "systemd does not run here; run sentinel --restore-blocklist at boot"
	}
	u := b.w.units.state(ctx, RestoreUnit)
	switch {
	case u.enabled:
		return true, ""
	case !u.loaded:
		return false, "the unit " + RestoreUnit + " is not installed"
	}
	if err := b.w.units.enable(ctx, RestoreUnit); err != nil {
		return false, err.Error()
	}
	b.unit = true
	return true, ""
}

// Undo implements [firewall.Backend].
func (b *baseline) Undo(ctx context.Context) error {
	var failed []error
	if b.loaded {
		failed = append(failed, unload())
	}
	switch {
	case b.written && b.had:
		failed = append(failed, b.w.state.write(b.before))
	case b.written:
		failed = append(failed, b.w.state.remove())
	}
	if b.unit {
		failed = append(failed, b.w.units.disable(ctx, RestoreUnit))
	}
	return errors.Join(failed...)
}
