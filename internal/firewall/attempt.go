// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentinel/internal/fault"
)

// An attempt is one change of a firewall, on trial where there are trials.
type attempt struct {
	trials  Trials
	trial   *Trial // under way already, or begun by record
	force   bool
	untried bool   // no trial could be begun, and force goes on without
	note    string // sentences about the obstacles that force has overridden, and about unknowns
}

// record begins the trial of a change, or adds further changes to its record. ports are those that
// the trial is about.
func (a *attempt) record(ctx context.Context, c Change, ports []Port) (err error) {
	switch {
	case a.trials.Source == nil || a.untried:
		return nil
	case a.trial != nil:
		a.trial.Change = c
		return a.trials.write(a.trial)
	}
	if a.trial, err = a.trials.begin(ctx, c, ports); err == nil {
		return nil
	}
	return a.endless(err, c, ports)
}

// endable refuses a trial that nothing would end before it is begun.
func (a *attempt) endable(ctx context.Context, c Change, ports []Port) error {
	if a.trials.Source == nil {
		return nil
	}
	if err := a.trials.Source.Endable(ctx, c.Kind, c.Manager); err != nil {
		return a.endless(err, c, ports)
	}
	return nil
}

// endless refuses a trial that nothing would end, unless force goes on without.
func (a *attempt) endless(err error, c Change, ports []Port) error {
	if a.untried = a.force; a.force {
		a.note += " There is no trial, because nothing would end it: " + err.Error() + "."
		return nil
	}
	return fault.Wrap(fault.FirewallFailed, "nothing would take it back by itself if it shut you out", err).
		WithFix("Repair that, or at a console of the machine run: sudo sentinel " + (&Trial{Change: c, Allowed: ports}).command() + " --force")
}

// overtaken looks again, under the lock, because another run can begin and confirm a trial after
// the plan was made.
func (a *attempt) overtaken() error {
	switch other, err := a.trials.Current(); {
	case err != nil:
		return err
	case other != nil:
		return fault.New(fault.FirewallFailed, "Another run of sentinel has begun a trial of the firewall.")
	default:
		return nil
	}
}

// left returns how many seconds are left to confirm the trial that was begun; at least one.
func (a *attempt) left() int {
	if current, err := a.trials.Current(); err == nil && current != nil {
		a.trial = current
	}
	return max(a.trial.secondsLeft(), 1)
}

// forTrial ends a clause about a change with the trial that it is for; otherwise is the state that
// comes back unless the change is confirmed.
func (a *attempt) forTrial(otherwise string) string {
	switch {
	case a.trials.Source == nil || a.untried:
		return ""
	case a.trial != nil:
		return " for a trial"
	default:
		return fmt.Sprintf(" for a trial of %d s, and %s again unless confirmed", int(a.trials.length()/time.Second), otherwise)
	}
}

// takeBack rolls the change back, and reports if that fails too. Then the record stays, so that it
// is tried again.
func (a *attempt) takeBack(ctx context.Context, p Pending, what string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	failure := fault.Wrap(fault.FirewallFailed, what, cause)
	err := p.Undo(ctx)
	if err == nil && a.trial != nil {
		err = a.trials.close(ctx)
	}
	if err != nil {
		failure.Message += "; taking it back failed too: " + err.Error()
		return failure.WithFix("Look at the firewall from a console of the machine: it may be half on.")
	}
	failure.Message += "; what was changed was taken back"
	if known, ok := errors.AsType[*fault.Error](cause); ok && known.Fix != "" {
		return failure.WithFix(known.Fix)
	}
	return failure
}
