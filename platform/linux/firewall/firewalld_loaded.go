// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"

	"sentinel/internal/firewall"
)

// A loadedFirewalld is a firewalld that runs. What is on trial is not written down: a reboot, or
// "firewall-cmd --reload", takes it away.
type loadedFirewalld struct {
	firewalld
}

var _ firewall.Loaded = (*loadedFirewalld)(nil)

// Rules implements [firewall.Loaded]. The daemon tells what is in force now.
func (f *loadedFirewalld) Rules(ctx context.Context) (firewall.Rules, error) {
	return f.rulesOf(ctx, clientProgram)
}

// Allow implements [firewall.Loaded].
func (f *loadedFirewalld) Allow(ctx context.Context, ports []firewall.Port, note func(firewall.Change) error) error {
	zones, err := f.zones(ctx, clientProgram)
	if err != nil {
		return err
	}
	c := firewall.Change{Kind: firewall.LetIn, Manager: firewall.Firewalld, Openings: missing(zones, ports)}
	if err := note(c); err != nil {
		return err
	}
	f.change = c
	return f.each(ctx, func(o firewall.Opening) []string { return []string{"--zone=" + o.Zone, "--add-port=" + o.String()} })
}

// Disable implements [firewall.Loaded].
func (f *loadedFirewalld) Disable(ctx context.Context, note func(firewall.Change) error) error {
	if err := f.Reversible(ctx); err != nil {
		return err
	}
	c := firewall.Change{Kind: firewall.TurnOff, Manager: firewall.Firewalld, WasEnabled: f.m.units.State(ctx, firewalldUnit).Enabled}
	if err := note(c); err != nil {
		return err
	}
	f.change = c
	return f.m.units.Stop(ctx, firewalldUnit)
}

// InForce implements [firewall.Resumed].
func (f *loadedFirewalld) InForce(ctx context.Context) error {
	if f.change.Kind == firewall.LetIn {
		return f.stillLetIn(ctx)
	}
	if f.m.units.State(ctx, firewalldUnit).Active {
		return errors.New(firewalldUnit + " is active")
	}
	return nil
}

// stillLetIn asks for each port of the change: a reload forgets what is not permanent yet.
func (f *loadedFirewalld) stillLetIn(ctx context.Context) error {
	err := f.each(ctx, func(o firewall.Opening) []string { return []string{"--zone=" + o.Zone, "--query-port=" + o.String()} })
	if err != nil {
		return fmt.Errorf("firewalld does not let in what was let in: %w", err)
	}
	return nil
}

// Keep implements [firewall.Pending].
func (f *loadedFirewalld) Keep(ctx context.Context) (bool, string) {
	var err error
	if f.change.Kind == firewall.TurnOff {
		err = f.m.units.Disable(ctx, firewalldUnit)
	} else {
		err = f.each(ctx, func(o firewall.Opening) []string {
			return []string{"--permanent", "--zone=" + o.Zone, "--add-port=" + o.String()}
		})
	}
	if err != nil {
		return false, err.Error()
	}
	if f.change.Kind == firewall.TurnOff {
		return f.m.retire(true, "")
	}
	return true, ""
}

// Undo implements [firewall.Pending]. A reboot has undone it already, but for a firewalld that was not to
// start at boot. That is not waited for: this may be [RestoreUnit], which ends before firewalld begins.
func (f *loadedFirewalld) Undo(ctx context.Context) error {
	switch u := f.m.units.State(ctx, firewalldUnit); {
	case !f.m.installed(clientProgram):
		return nil
	case f.change.Kind == firewall.TurnOff && f.change.Rebooted && !u.Active && !u.Enabled:
		return f.m.units.Queue(ctx, firewalldUnit, true)
	case f.change.Kind == firewall.TurnOff && !f.change.Rebooted && !u.Active:
		return f.startAgain(ctx)
	case f.change.Kind == firewall.TurnOff || !u.Active || f.change.Rebooted:
		return nil
	}
	return f.each(ctx, func(o firewall.Opening) []string { return []string{"--zone=" + o.Zone, "--remove-port=" + o.String()} })
}

// startAgain starts the daemon beside [RestoreUnit], which waits for it, or for the lock that is held here.
// What others have put into iptables meanwhile is put in again: firewalld empties the tables.
func (f *loadedFirewalld) startAgain(ctx context.Context) error {
	saves, unread := f.saves(ctx) // no reason to leave it off
	return f.m.puttingBack(ctx, func() error {
		if err := f.m.units.StartNow(ctx, firewalldUnit); err != nil {
			return err
		}
		failed := []error{unread, f.answers(ctx)}
		for _, s := range saves {
			failed = append(failed, f.load(ctx, s))
		}
		return errors.Join(failed...)
	})
}

// each asks the daemon for a change of each opening.
func (f *loadedFirewalld) each(ctx context.Context, args func(firewall.Opening) []string) error {
	var failed []error
	for _, o := range f.change.Openings {
		_, err := f.m.run(ctx, changeLimit, clientProgram, args(o)...)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
