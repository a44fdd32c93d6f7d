// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables"

	"sentinel/internal/firewall"
)

// A loadedRuleset is the rule set of sentinel itself, in the kernel.
type loadedRuleset struct {
	ownRuleset
}

var _ firewall.Loaded = (*loadedRuleset)(nil)

// Rules implements [firewall.Loaded].
func (b *loadedRuleset) Rules(context.Context) (firewall.Rules, error) {
	rules, ok, err := b.m.rules.loaded()
	if err == nil && !ok {
		err = errors.New("the table " + firewall.BaselineTable + " is not loaded as it should be")
	}
	ports := allowedBy(rules)
	return firewall.Rules{For: func(p firewall.Port) firewall.Ruling {
		if slices.Contains(ports, p) {
			return firewall.Ruling{Verdict: firewall.Open}
		}
		return firewall.Ruling{}
	}}, err
}

// Allow implements [firewall.Loaded].
func (b *loadedRuleset) Allow(_ context.Context, ports []firewall.Port, note func(firewall.Change) error) error {
	have, _, err := b.m.rules.loaded()
	if err == nil {
		err = fits(union(ports, allowedBy(have)))
	}
	if err != nil {
		return err
	}
	c := firewall.Change{Kind: firewall.LetIn, Manager: firewall.Nftables, Openings: openings(ports)}
	if err := note(c); err != nil {
		return err
	}
	b.change = c
	return b.m.rules.append(ports)
}

// Disable implements [firewall.Loaded]. The definition stays until that is kept.
func (b *loadedRuleset) Disable(_ context.Context, note func(firewall.Change) error) error {
	rules, _, err := b.m.rules.loaded()
	if err != nil {
		return err
	}
	c := firewall.Change{Kind: firewall.TurnOff, Manager: firewall.Nftables, Openings: openings(allowedBy(rules))}
	if err := note(c); err != nil {
		return err
	}
	b.change = c
	return b.m.rules.unload()
}

// InForce implements [firewall.Resumed].
func (b *loadedRuleset) InForce(ctx context.Context) error {
	if b.change.Kind == firewall.LetIn {
		return b.ownRuleset.InForce(ctx)
	}
	_, ok, err := b.m.rules.loaded()
	if ok {
		err = errors.New("the table " + firewall.BaselineTable + " is loaded")
	}
	return err
}

// Keep implements [firewall.Pending]. Without a definition nothing puts the rules back.
func (b *loadedRuleset) Keep(ctx context.Context) (bool, string) {
	if b.change.Kind == firewall.LetIn {
		return b.ownRuleset.Keep(ctx)
	}
	if err := b.m.state.remove(); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// Undo implements [firewall.Pending]. After a reboot the definition is what is loaded.
func (b *loadedRuleset) Undo(ctx context.Context) error {
	ports := portsIn(b.change.Openings)
	if b.change.Kind == firewall.LetIn {
		return b.m.rules.retract(ports)
	}
	if _, ok, err := b.m.rules.loaded(); err != nil || ok {
		return err
	}
	return b.m.loadBesideFlows(ctx, ports)
}

// openings are ports that are let in whatever zone they come by.
func openings(ports []firewall.Port) []firewall.Opening {
	var list []firewall.Opening
	for _, p := range ports {
		list = append(list, firewall.Opening{Port: p})
	}
	return list
}

// portsIn returns the ports of openings.
func portsIn(list []firewall.Opening) []firewall.Port {
	var ports []firewall.Port
	for _, o := range list {
		ports = append(ports, o.Port)
	}
	return ports
}

// append adds ports to those that are let in.
func (r ruleset) append(ports []firewall.Port) error {
	if err := r.change(ports, (*nftables.Conn).SetAddElements); err != nil {
		return fmt.Errorf("add the ports to nftables: %w", err)
	}
	return nil
}

// retract removes ports from them. One that is not there is no error.
func (r ruleset) retract(ports []firewall.Port) error {
	have, ok, err := r.loaded()
	if err != nil || !ok {
		return err
	}
	there := slices.DeleteFunc(slices.Clone(ports), func(p firewall.Port) bool { return !slices.Contains(have.ports, p) })
	if err := r.change(there, (*nftables.Conn).SetDeleteElements); err != nil {
		return fmt.Errorf("remove the ports from nftables: %w", err)
	}
	return nil
}

// change is a transaction about the set of ports.
func (r ruleset) change(ports []firewall.Port, how func(*nftables.Conn, *nftables.Set, []nftables.SetElement) error) error {
	conn, err := r.dial()
	if err != nil || len(ports) == 0 {
		return err
	}
	if err := how(conn, openSet(table()), openElements(ports)); err != nil {
		return err
	}
	return conn.Flush()
}
