// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// AllowOptions say which services to let in, and how.
type AllowOptions struct {
	Ports   []Port // at least one, each once, in order
	Force   bool   // proceed although nothing would take it back
	Confirm bool   // keep what is on trial
	Trials  Trials
}

// Allowed says what became of services that are to be let in.
type Allowed struct {
	FirewallStatus string `json:"firewall_status"` // as read back
	// Changed is false when they were let in already or are on trial, and when no firewall is on,
	// which then keeps nothing out.
	Changed bool   `json:"changed"`
	Manager string `json:"manager,omitempty"` // which firewall is on; absent when none is
	// ConfirmWithin is how many seconds are left to confirm what is on trial: it is taken back
	// unless that is done. Absent when nothing is.
	ConfirmWithin int `json:"confirm_within,omitempty"`
	// Services are the ports that were asked for, and the programs that listen there.
	Services []Listener `json:"services"`
	// Persistent says whether they are let in after a reboot, which is not so on trial; absent when
	// nothing was changed.
	Persistent *bool  `json:"persistent,omitempty"`
	Details    string `json:"details,omitempty"` // says it in sentences; absent from a preview
}

// Allowing is a plan to let services in.
type Allowing struct {
	attempt
	source  Source
	loaded  Loaded
	before  Status
	ports   []Port // that were asked for
	closed  []Port // of them
	result  Allowed
	confirm bool
	idle    string // the reason why there is nothing to do, as a sentence
}

// PlanAllow determines what would be done. It changes nothing. Services that are let in already,
// that are on trial, or that no firewall keeps out are a plan that says so. It fails with
// FIREWALL_UNAVAILABLE if the firewall is none that can be changed, with UNSUPPORTED on macOS, and
// with FIREWALL_FAILED if a rule of the owner denies a port or another change is on trial.
func PlanAllow(ctx context.Context, source Source, m Manager, o AllowOptions) (*Allowing, error) {
	trial, err := o.Trials.Current()
	if err != nil {
		return nil, err
	}
	facts := source.Firewall(ctx)
	a := &Allowing{attempt: attempt{trials: o.Trials, trial: trial, force: o.Force}, source: source, before: Assess(facts), ports: o.Ports}
	a.result = Allowed{FirewallStatus: a.before.State, Manager: facts.manager(), Services: listenersAt(ctx, m, o.Ports)}
	switch {
	case trial != nil:
		return a, a.onTrial(o.Confirm)
	case a.before.State == Unknown:
		return nil, unknown(facts, a.before, a.command())
	case a.before.State == Disabled:
		a.result.Manager = ""
		a.idle = "No firewall is on, so nothing keeps out " + portList(o.Ports, ", ") + ". " +
			"Let it stay reachable when one is switched on: sudo sentinel --fix-firewall --keep-open " + portList(o.Ports, ",")
		return a, ctx.Err()
	}
	if a.loaded, err = loadedBy(m, facts, a.before); err != nil {
		return nil, err
	}
	return a, a.survey(ctx, o.Confirm)
}

func (a *Allowing) command() string { return "--allow-service " + portList(a.ports, ",") }

// onTrial plans for services that another run has let in.
func (a *Allowing) onTrial(confirm bool) error {
	if a.trial.Change.Kind == TurnOn && !a.trial.Over() {
		return fault.New(fault.FirewallFailed, fmt.Sprintf("A firewall (%s) is on trial for %d s more, and only one change can be.", a.trial.Change.Manager, a.trial.secondsLeft())).
			WithFix("Take it back with sudo sentinel --disable-firewall, then begin again: sudo sentinel --fix-firewall --keep-open " + portList(a.ports, ","))
	}
	if err := a.trial.admits(LetIn); err != nil {
		return err
	}
	if !slices.Equal(a.trial.Allowed, a.ports) {
		return a.trial.busy()
	}
	a.confirm, a.result.Changed, a.result.Manager, a.result.Persistent = confirm, confirm, a.trial.Change.Manager, new(false)
	if !confirm {
		a.result.ConfirmWithin = a.trial.secondsLeft()
		a.idle = subject(a.ports, "is", "are") + " let in on trial already. " + a.trial.howToConfirm(a.result.ConfirmWithin)
	}
	return nil
}

// survey finds the ports that are closed.
func (a *Allowing) survey(ctx context.Context, confirm bool) error {
	rules, err := a.loaded.Rules(ctx)
	if err != nil {
		return err
	}
	for _, p := range a.ports {
		switch r := rules.For(p); r.Verdict {
		case Open:
		case Denied:
			return fault.New(fault.FirewallFailed, sanitize.Text(fmt.Sprintf("%s shuts out %s: %s", a.loaded.Name(), p, r.Rule), 300)+".").WithFix(sanitize.Text(r.Fix, 600))
		default:
			a.closed = append(a.closed, p)
		}
	}
	if rules.IPv6.Verdict == Denied {
		a.note += " That is for IPv4 alone: " + rules.IPv6.Rule + "."
	}
	switch a.result.Changed = len(a.closed) > 0; {
	case a.result.Changed && a.loaded.Name() == ApplicationFirewall:
		return noPorts(a.closed[0])
	case !a.result.Changed:
		a.idle = subject(a.ports, "is", "are") + " let in by " + a.loaded.Name() + " already."
		return ctx.Err()
	case confirm:
		return tooLate(a.command())
	}
	return cmp.Or(a.endable(ctx, Change{Kind: LetIn, Manager: a.loaded.Name()}, a.ports), ctx.Err())
}

// Preview returns the expected result of Do, without the fields that are only known afterwards.
func (a *Allowing) Preview() Allowed { return a.result }

// Idle reports whether [Allowing.Do] would change nothing.
func (a *Allowing) Idle() bool { return a.idle != "" }

// Summary describes what Do would do, in one or two sentences.
func (a *Allowing) Summary() string {
	switch {
	case a.idle != "":
		return a.idle + " Nothing would be changed."
	case a.confirm:
		return portList(a.ports, ", ") + " would be confirmed and stay let in by " + a.result.Manager + "."
	default:
		return fmt.Sprintf("%s would be let in by %s%s, for every other host. %s", portList(a.closed, ", "), a.loaded.Name(), a.forTrial("closed"), a.audience()+a.note)
	}
}

// maxProcessName bounds the name of a process in a sentence, in runes.
const maxProcessName = 64

// audience returns a sentence about what listens at the ports.
func (a *Allowing) audience() string {
	var texts []string
	for _, l := range a.result.Services {
		if l.Process != "" {
			texts = append(texts, fmt.Sprintf("%s listens at %s.", sanitize.Quoted(l.Process, maxProcessName), l.Port))
		}
	}
	if texts == nil {
		return "Nothing that is known by name listens there now."
	}
	return strings.Join(texts, " ")
}

// Do lets the services in for a trial and reads that back, or confirms it. It rolls everything back
// if it does not show (FIREWALL_FAILED). The end of ctx stops it only before the first change.
func (a *Allowing) Do(ctx context.Context) (Allowed, error) {
	if err := ctx.Err(); err != nil {
		return Allowed{}, err
	}
	done := a.result
	if done.Details = a.idle; a.idle != "" {
		return done, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doLimit)
	defer cancel()
	if a.confirm {
		t, lasting, remark, err := a.trials.confirm(ctx, a.source, a.trial)
		if err != nil {
			return Allowed{}, err
		}
		done.Persistent = &lasting
		done.Details = subject(t.Allowed, "was confirmed and stays", "were confirmed and stay") + " let in by " + t.Change.Manager + ". " + afterReboot(lasting, remark)
		return done, nil
	}
	release, err := a.trials.lock(ctx)
	if err != nil {
		return Allowed{}, err
	}
	defer release()
	if err := a.overtaken(); err != nil {
		return Allowed{}, err
	}
	return a.letIn(ctx)
}

// letIn begins a trial, or without trials lets the services in for good.
func (a *Allowing) letIn(ctx context.Context) (Allowed, error) {
	err := a.loaded.Allow(ctx, a.closed, func(c Change) error { return a.record(ctx, c, a.ports) })
	if err == nil {
		err = a.readBack(ctx)
	}
	if err != nil {
		return Allowed{}, a.takeBack(ctx, a.loaded, portList(a.closed, ", ")+" could not be let in", err)
	}
	done := a.result
	begun := fmt.Sprintf("%s let in by %s%s. ", subject(a.closed, "was", "were"), a.loaded.Name(), a.forTrial("closed"))
	if a.trial != nil {
		done.ConfirmWithin, done.Persistent = a.left(), new(false)
		done.Details = sanitize.Text(begun+a.trial.howToConfirm(done.ConfirmWithin)+" "+a.audience()+a.note, 1200)
		return done, nil
	}
	lasting, remark := a.loaded.Keep(ctx)
	done.Persistent = &lasting
	done.Details = sanitize.Text(begun+afterReboot(lasting, remark)+" "+a.audience()+a.note, 1200)
	return done, nil
}

func (a *Allowing) readBack(ctx context.Context) error {
	rules, err := a.loaded.Rules(ctx)
	if err != nil {
		return err
	}
	for _, p := range a.closed {
		if rules.For(p).Verdict != Open {
			return fmt.Errorf("%s does not say that it lets %s in", a.loaded.Name(), p)
		}
	}
	return nil
}

// listenersAt returns the ports with the programs that listen there, as far as they are known.
func listenersAt(ctx context.Context, m Manager, ports []Port) []Listener {
	open, _ := m.OpenPorts(ctx) //nolint:errcheck // what is let in does not depend on who listens
	list := []Listener{}
	for _, p := range ports {
		found := Listener{Port: p}
		for _, l := range distinct(open.Listeners) {
			if l.Port == p {
				found = l
			}
		}
		list = append(list, found)
	}
	return list
}

// loadedBy finds the firewall that is on, among those that can be changed.
func loadedBy(m Manager, f Facts, s Status) (Loaded, error) {
	name := f.manager()
	if name == "" {
		return nil, fault.New(fault.FirewallUnavailable, "The firewall that is on is none of ufw, firewalld and sentinel's own: "+s.Evidence+".").
			WithFix("Change it where it comes from, such as /etc/nftables.conf or the rules of iptables-persistent.")
	}
	return m.Loaded(name)
}

// afterReboot returns a sentence about the next boot.
func afterReboot(lasting bool, remark string) string {
	if lasting {
		return strings.TrimSpace("That holds after a reboot, too. " + remark)
	}
	return "It does not outlast a reboot: " + remark + "."
}
