// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sentinel/internal/firewall"
)

// A loadedUFW is a ufw that is on. It writes every change to its files at once, and a reboot
// does not take that away: what is on trial is taken back by [RestoreUnit] then.
type loadedUFW struct {
	ufw
}

var _ firewall.Loaded = (*loadedUFW)(nil)

// Allow implements [firewall.Loaded].
func (u *loadedUFW) Allow(ctx context.Context, ports []firewall.Port, note func(firewall.Change) error) error {
	rules, err := u.rules(ctx)
	if err != nil {
		return err
	}
	c := firewall.Change{Kind: firewall.LetIn, Manager: firewall.UFW, WasEnabled: true, Openings: openings(ports)}
	if err := note(c); err != nil {
		return err
	}
	u.change = c
	return u.allow(ctx, rules, c.Openings)
}

// Disable implements [firewall.Loaded].
func (u *loadedUFW) Disable(ctx context.Context, note func(firewall.Change) error) error {
	c := firewall.Change{Kind: firewall.TurnOff, Manager: firewall.UFW, WasEnabled: true}
	if err := note(c); err != nil {
		return err
	}
	u.change = c
	return u.disable(ctx)
}

// InForce implements [firewall.Resumed].
func (u *loadedUFW) InForce(ctx context.Context) error {
	if u.change.Kind == firewall.LetIn {
		return errors.Join(u.ufw.InForce(ctx), u.stillLetIn(ctx))
	}
	active, err := u.active(ctx)
	if active {
		err = errors.New("ufw says that it is active")
	}
	return err
}

// stillLetIn looks for a rule for each port of the change: somebody may have deleted one meanwhile.
func (u *loadedUFW) stillLetIn(ctx context.Context) error {
	rules, err := u.Rules(ctx)
	if err != nil {
		return err
	}
	for _, o := range u.change.Openings {
		if rules.For(o.Port).Verdict != firewall.Open {
			return fmt.Errorf("ufw does not let in %s", o)
		}
	}
	return nil
}

// Keep implements [firewall.Pending].
func (u *loadedUFW) Keep(context.Context) (bool, string) {
	if on := ufwEnabled(u.m.root); on != (u.change.Kind == firewall.LetIn) {
		return false, "/" + ufwConfiguration + " says something else"
	}
	if u.change.Kind == firewall.TurnOff {
		return u.m.retire(true, "")
	}
	return true, ""
}

// Undo implements [firewall.Pending]. Where ufw was uninstalled since, nothing is left to undo.
func (u *loadedUFW) Undo(ctx context.Context) error {
	switch {
	case !u.m.installed(ufwProgram):
		return nil
	case u.change.Kind == firewall.TurnOff:
		return u.m.puttingBack(ctx, func() error { return u.start(ctx) })
	default:
		return u.delete(ctx, u.change.Openings)
	}
}

// allow adds a rule for each of the ports.
func (u *ufw) allow(ctx context.Context, rules []ufwRule, openings []firewall.Opening) error {
	for _, o := range openings {
		args := []string{"allow", o.String()}
		if deniesRest(rules) {
			args = slices.Insert(args, 0, "prepend")
		}
		if _, err := u.m.runUFW(ctx, changeLimit, args...); err != nil {
			return err
		}
	}
	return nil
}

// delete removes those rules.
func (u *ufw) delete(ctx context.Context, openings []firewall.Opening) error {
	var failed []error
	for _, o := range openings {
		_, err := u.m.runUFW(ctx, changeLimit, "delete", "allow", o.String())
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
