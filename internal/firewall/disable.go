// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sentinel/internal/sanitize"
)

// DisableOptions change how a firewall is turned off.
type DisableOptions struct {
	Force   bool // proceed although nothing would turn it on again
	Confirm bool // keep it off
	Trials  Trials
}

// Disablement says what became of a firewall that is to be turned off.
type Disablement struct {
	// FirewallStatus is read back. It can still be ACTIVE after one was switched off, where
	// rules from elsewhere filter as well.
	FirewallStatus string `json:"firewall_status"`
	Changed        bool   `json:"changed"`           // false when none was on, or it is off on trial
	Manager        string `json:"manager,omitempty"` // which one was switched off; absent when none was on
	// ConfirmWithin is how many seconds are left to confirm that it stays off: it is switched on
	// again unless that is done. Absent when that is not on trial.
	ConfirmWithin int `json:"confirm_within,omitempty"`
	// Exposes lists what other hosts can reach and could not before, by the rules that the manager
	// lists in plain terms, in the order of Closes of [Enabled]; at most 30. It is empty when that is
	// nothing, and then there is no total.
	Exposes          []Listener `json:"exposes,omitzero"`
	ExposesTotal     int        `json:"exposes_total,omitempty"`     // before the list was cut
	ExposesTruncated bool       `json:"exposes_truncated,omitempty"` // exposes does not show all
	// Persistent says whether it stays off after a reboot, which is not so on trial; absent when
	// nothing was changed.
	Persistent *bool  `json:"persistent,omitempty"`
	Details    string `json:"details,omitempty"` // says it in sentences; absent from a preview
}

// Disabling is a plan to turn a firewall off.
type Disabling struct {
	attempt
	source  Source
	loaded  Loaded
	before  Status
	result  Disablement
	confirm bool
	early   bool   // the firewall is on trial, which ends
	idle    string // the reason why there is nothing to do, as a sentence
}

// PlanDisable determines what would be done. It changes nothing. No firewall that is on, or one
// that is off on trial, is a plan that says so; one that is on trial itself would be taken back. It
// fails with FIREWALL_UNAVAILABLE if the firewall is none that can be turned off here.
func PlanDisable(ctx context.Context, source Source, m Manager, o DisableOptions) (*Disabling, error) {
	trial, err := o.Trials.Current()
	if err != nil {
		return nil, err
	}
	facts := source.Firewall(ctx)
	d := &Disabling{attempt: attempt{trials: o.Trials, trial: trial, force: o.Force}, source: source, before: Assess(facts)}
	d.result = Disablement{FirewallStatus: d.before.State}
	switch {
	case trial != nil:
		return d, d.onTrial(o.Confirm)
	case d.before.State == Unknown:
		return nil, unknown(facts, d.before, "--disable-firewall")
	case d.before.State == Disabled:
		d.idle = "No firewall is on: " + d.before.Evidence + "."
		return d, ctx.Err()
	case o.Confirm:
		return nil, tooLate("--disable-firewall")
	}
	if d.loaded, err = loadedBy(m, facts, d.before); err != nil {
		return nil, err
	}
	return d, d.survey(ctx, m)
}

// onTrial plans for a change that another run has made.
func (d *Disabling) onTrial(confirm bool) error {
	d.result.Manager = d.trial.Change.Manager
	if d.trial.Change.Kind == TurnOn {
		d.early, d.result.Changed, d.result.FirewallStatus = true, true, Disabled
		return nil
	}
	if err := d.trial.admits(TurnOff); err != nil {
		return err
	}
	d.confirm, d.result.Changed, d.result.Persistent = confirm, confirm, new(false)
	if !confirm {
		d.result.ConfirmWithin = d.trial.secondsLeft()
		d.idle = d.result.Manager + " is off on trial already. " + d.trial.howToConfirm(d.result.ConfirmWithin)
	}
	return nil
}

// survey finds the sockets that become reachable.
func (d *Disabling) survey(ctx context.Context, m Manager) error {
	if err := reversible(ctx, d.loaded); err != nil {
		return err
	}
	rules, err := d.loaded.Rules(ctx)
	if err != nil {
		return err
	}
	open, err := m.OpenPorts(ctx)
	if err != nil {
		d.note = " Not all services could be found out: " + err.Error() + "."
	}
	if rules.Forwarded {
		d.note += fmt.Sprintf(" This machine forwards packets, as for containers and virtual machines, and only %s keeps other hosts from what is behind it: that becomes reachable, and is not listed.", d.loaded.Name())
	}
	exposes, _ := open.partition(func(l Listener) bool { return rules.For(l.Port).Verdict != Open })
	d.result.FirewallStatus, d.result.Changed, d.result.Manager = Disabled, true, d.loaded.Name()
	d.result.Exposes, d.result.ExposesTotal, d.result.ExposesTruncated = capped(exposes)
	return cmp.Or(d.endable(ctx, Change{Kind: TurnOff, Manager: d.loaded.Name()}, []Port{}), ctx.Err())
}

// Preview returns the expected result of Do, without the fields that are only known afterwards.
func (d *Disabling) Preview() Disablement { return d.result }

// Shorten leaves out the last row; false where that would leave out what matters.
func (d *Disablement) Shorten() bool {
	n := len(d.Exposes)
	if n <= fewest {
		return false
	}
	d.Exposes, d.ExposesTruncated = d.Exposes[:n-1], true
	return true
}

// Idle reports whether [Disabling.Do] would change nothing.
func (d *Disabling) Idle() bool { return d.idle != "" }

// TakesBack reports whether [Disabling.Do] would end the trial of a firewall, rather than switch one off
// that stays on without it.
func (d *Disabling) TakesBack() bool { return d.early }

// Summary describes what Do would do, in one or two sentences.
func (d *Disabling) Summary() string {
	switch {
	case d.idle != "":
		return d.idle + " Nothing would be changed."
	case d.early:
		return "The trial of the firewall (" + d.result.Manager + ") would be ended: it would be taken back now."
	case d.confirm:
		return "The firewall (" + d.result.Manager + ") would stay off."
	default:
		return fmt.Sprintf("%s would be switched off%s. %s%s", backendName(d.loaded.Name()), d.forTrial("on"), d.exposed("would become"), d.note)
	}
}

func (d *Disabling) exposed(become string) string {
	if d.loaded.Name() == ApplicationFirewall {
		return "Every program that listens " + become + " reachable."
	}
	switch n := d.result.ExposesTotal; n {
	case 0:
		return "No service that listens now " + become + " reachable by that."
	case 1:
		return fmt.Sprintf("One service %s reachable from other hosts.", become)
	default:
		return fmt.Sprintf("%d services %s reachable from other hosts.", n, become)
	}
}

// Do turns the firewall off for a trial and reads it back, ends the trial of one that is on, or
// confirms that it stays off. It rolls everything back if it is on still (FIREWALL_FAILED). The end
// of ctx stops it only before the first change.
func (d *Disabling) Do(ctx context.Context) (Disablement, error) {
	if err := ctx.Err(); err != nil {
		return Disablement{}, err
	}
	done := d.result
	if done.Details = d.idle; d.idle != "" {
		return done, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doLimit)
	defer cancel()
	switch {
	case d.early:
		return d.endTrial(ctx)
	case d.confirm:
		return d.keep(ctx)
	}
	release, err := d.trials.lock(ctx)
	if err != nil {
		return Disablement{}, err
	}
	defer release()
	if err := d.overtaken(); err != nil {
		return Disablement{}, err
	}
	return d.switchOff(ctx)
}

// endTrial takes back a firewall that is on trial.
func (d *Disabling) endTrial(ctx context.Context) (Disablement, error) {
	said, err := d.trials.End(ctx, true)
	if err != nil {
		return Disablement{}, err
	}
	done := d.result
	now := Assess(d.source.Firewall(ctx))
	done.FirewallStatus, done.Changed = now.State, said != ""
	if said == "" {
		said = "The trial was over by then."
	}
	done.Details = sanitize.Text(said+" Now "+now.Evidence+".", 900)
	return done, nil
}

// keep confirms that the firewall stays off.
func (d *Disabling) keep(ctx context.Context) (Disablement, error) {
	t, lasting, remark, err := d.trials.confirm(ctx, d.source, d.trial)
	if err != nil {
		return Disablement{}, err
	}
	done := d.result
	done.Persistent = &lasting
	done.Details = sanitize.Text("It was confirmed that the firewall ("+t.Change.Manager+") stays off. "+afterReboot(lasting, remark)+" Switch it on again: sudo sentinel --fix-firewall", 900)
	return done, nil
}

// switchOff begins a trial, or without trials turns the firewall off for good.
func (d *Disabling) switchOff(ctx context.Context) (Disablement, error) {
	err := d.loaded.Disable(ctx, func(c Change) error { return d.record(ctx, c, []Port{}) })
	facts := d.source.Firewall(ctx)
	after := Assess(facts)
	if err == nil && after.State == Active && facts.manager() == d.loaded.Name() {
		err = errors.New(after.Evidence)
	}
	if err != nil {
		return Disablement{}, d.takeBack(ctx, d.loaded, backendName(d.loaded.Name())+" could not be switched off", err)
	}
	done := d.result
	done.FirewallStatus = after.State
	said := fmt.Sprintf("%s was switched off%s: %s. ", backendName(d.loaded.Name()), d.forTrial("on"), after.Evidence)
	if d.trial != nil {
		done.ConfirmWithin, done.Persistent = d.left(), new(false)
		done.Details = sanitize.Text(said+d.trial.howToConfirm(done.ConfirmWithin)+" "+d.exposed("became")+d.note, 1200)
		return done, nil
	}
	lasting, remark := d.loaded.Keep(ctx)
	done.Persistent = &lasting
	done.Details = sanitize.Text(said+afterReboot(lasting, remark)+" "+d.exposed("became")+d.note, 1200)
	return done, nil
}
