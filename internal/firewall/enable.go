// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

const (
	// doLimit bounds the change with its read-back. Once begun, it is not abandoned if the caller
	// disconnects: a half-configured firewall locks people out.
	doLimit = 26 * time.Second
	// undoLimit bounds the rollback, in addition.
	undoLimit = 10 * time.Second
	// maxListeners caps each list of sockets in an answer.
	maxListeners = 30
)

// sshDefault is the port that --force allows if the one in use cannot be determined.
const sshDefault = 22

// EnableOptions change how the firewall is turned on.
type EnableOptions struct {
	// Force proceeds even if the ports of remote sessions are uncertain, if a rule of the owner
	// denies them, or if nothing would roll the firewall back automatically.
	Force bool
	// Confirm keeps a firewall that is on trial, and begins no trial.
	Confirm bool
	// KeepOpen are further ports to let in.
	KeepOpen []Port
	Trials   Trials
	// Sessions tells what carries the sessions of people; nil where that is not read.
	Sessions func(context.Context) (*sessions.Model, error)
}

// Enabled says what became of the firewall.
type Enabled struct {
	FirewallStatus string `json:"firewall_status"` // as read back
	Changed        bool   `json:"changed"`         // false when a firewall was on already, or on trial
	// Manager is [UFW], [Firewalld], [Nftables] or [ApplicationFirewall]; absent when
	// a firewall was on already that none of them has loaded.
	Manager string `json:"manager,omitempty"`
	// ConfirmWithin is how many seconds are left to confirm a firewall that is on
	// trial: it is switched off again unless that is done. Absent when none is.
	ConfirmWithin int `json:"confirm_within,omitempty"`
	// AllowedProtocols are the protocols of IP without ports in which the tunnels of sessions travel,
	// such as gre, or that services of the system receive, such as vrrp; absent when there are none.
	AllowedProtocols []string `json:"allowed_protocols,omitempty"`
	// AllowedPorts are those of remote sessions and of keep_open, which were let in first unless
	// the rules do that by themselves; absent, as are the other lists, when a firewall was on
	// already: its rules are not looked at.
	AllowedPorts []Port `json:"allowed_ports,omitzero"`
	// Closes lists what other hosts could reach and now cannot, by the rules that
	// the manager lists in plain terms: services of the system and those of users by turns, of each
	// what has most open connections first; at most 30. It is empty when that is nothing, and then there
	// is no total.
	Closes          []Listener `json:"closes,omitzero"`
	ClosesTotal     int        `json:"closes_total,omitempty"`     // before the list was cut
	ClosesTruncated bool       `json:"closes_truncated,omitempty"` // closes does not show all
	// StaysOpen lists what other hosts can still reach, in the same way.
	StaysOpen          []Listener `json:"stays_open,omitzero"`
	StaysOpenTotal     int        `json:"stays_open_total,omitempty"`     // before the list was cut
	StaysOpenTruncated bool       `json:"stays_open_truncated,omitempty"` // stays_open does not show all
	// Persistent says whether the firewall comes back after a reboot, which one on
	// trial does not; absent when that is not known.
	Persistent *bool `json:"persistent,omitempty"`
	// Details says it in sentences; absent from a preview.
	Details string `json:"details,omitempty"`
}

// An Enabling is a firewall that is about to be turned on or confirmed, or one that is on already.
type Enabling struct {
	attempt
	source   Source
	manager  Backend // nil if a firewall is on that is not sentinel's own
	before   Status
	result   Enabled
	confirm  bool
	ports    []Port // to be let in: remotePorts, protocols of the system, then keepOpen
	keepOpen []Port // beside remotePorts
	// remotePorts are those of remote sessions.
	remotePorts []Port
	users       []carrier // of remotePorts, those at which programs of users serve sessions
	links       []Link
	drops       bool // rules may drop packets of open connections
	overIPv6    []*sessions.Session
	app         *Application // before; nil on other systems than macOS
}

// PlanEnable determines what would be done. It changes nothing. A firewall that is on already is a
// plan that says so, and so is one on trial. It fails with FIREWALL_UNAVAILABLE if there is nothing
// to turn on. If it could lock the owner out, it fails with UNAVAILABLE because the port of remote
// sessions is unknown, or with FIREWALL_FAILED because a rule denies it. FIREWALL_FAILED also
// reports that there is no trial to confirm.
func PlanEnable(ctx context.Context, source Source, m Manager, o EnableOptions) (*Enabling, error) {
	trial, err := o.Trials.Current()
	if err != nil {
		return nil, err
	}
	facts := source.Firewall(ctx)
	e := &Enabling{attempt: attempt{trials: o.Trials, trial: trial, force: o.Force}, source: source, before: Assess(facts), keepOpen: o.KeepOpen, app: facts.Application, links: facts.Links}
	e.result = Enabled{FirewallStatus: Active}
	switch {
	case trial != nil:
		return e, e.onTrial(o.Confirm)
	case e.before.State == Unknown:
		return nil, unknown(facts, e.before, "--fix-firewall")
	case e.before.State != Active && o.Confirm:
		return nil, tooLate("--fix-firewall")
	}
	manager, err := m.Backend(ctx)
	if e.before.State == Active {
		e.alreadyOn(facts, manager)
		return e, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	e.manager, e.result.Manager, e.result.Changed = manager, manager.Name(), true
	if err := e.survey(ctx, m, o.Sessions); err != nil {
		return nil, err
	}
	if err := e.endable(ctx, Change{Kind: TurnOn, Manager: manager.Name()}, e.result.AllowedPorts); err != nil {
		return nil, err
	}
	e.note += facts.untracked()
	return e, ctx.Err()
}

// unknown returns the refusal to change a firewall whose state cannot be read.
func unknown(f Facts, s Status, command string) error {
	if known, ok := errors.AsType[*fault.Error](f.unread()); ok {
		return known
	}
	return fault.New(fault.Unavailable, "Whether a firewall is on cannot be told: "+s.Evidence+".").
		WithFix("Run it as root: sudo sentinel " + command)
}

// onTrial plans for a firewall that another run has turned on. Repeating the command is not a
// confirmation.
func (e *Enabling) onTrial(confirm bool) error {
	if err := e.trial.admits(TurnOn); err != nil {
		return err
	}
	e.confirm = confirm
	e.result = Enabled{
		FirewallStatus: e.before.State, Changed: confirm, Manager: e.trial.Change.Manager, AllowedPorts: e.trial.Allowed, Persistent: new(false),
	}
	if !confirm {
		e.result.ConfirmWithin = e.trial.secondsLeft()
	}
	return nil
}

// alreadyOn records which manager's firewall is on. Only sentinel's own is handled further:
// manager, the one that could be turned on, need not be the one that is.
func (e *Enabling) alreadyOn(f Facts, manager Backend) {
	e.result.Manager = f.manager()
	if manager != nil && e.result.Manager == Nftables && manager.Name() == Nftables {
		e.manager = manager
	}
}

// survey finds the ports to allow and the sockets that become unreachable.
func (e *Enabling) survey(ctx context.Context, m Manager, find func(context.Context) (*sessions.Model, error)) error {
	if err := reversible(ctx, e.manager); err != nil {
		return err
	}
	open, err := m.OpenPorts(ctx)
	err = errors.Join(err, e.carriers(ctx, find, &open))
	if err := e.remote(&open, err); err != nil {
		return err
	}
	rules, err := e.manager.Rules(ctx)
	if err != nil {
		return err
	}
	if err := opensMost(e.manager.Name(), rules); err != nil {
		return err
	}
	if err := e.withoutIPv6(&rules, &open); err != nil {
		return err
	}
	e.remotePorts, e.ports = open.Remote, slices.Clone(open.Remote)
	for _, p := range slices.Concat(open.Protocols, e.waysOut(open), e.keepOpen) {
		if !slices.Contains(e.ports, p) {
			e.ports = append(e.ports, p)
		}
	}
	if err := e.letIn(rules); err != nil {
		return err
	}
	if err := e.admit(rules); err != nil {
		return err
	}
	closes, stays := open.partition(func(l Listener) bool {
		return rules.For(l.Port).Verdict != Open && !slices.Contains(e.result.AllowedPorts, l.Port)
	})
	e.result.Closes, e.result.ClosesTotal, e.result.ClosesTruncated = capped(closes)
	e.result.StaysOpen, e.result.StaysOpenTotal, e.result.StaysOpenTruncated = capped(stays)
	if open.Cut {
		e.note += " More sockets listen than are looked at: what is closed and what stays reachable is not told of all."
	}
	if rules.ForwardsAll {
		e.note += fmt.Sprintf(" As %s is configured, this machine forwards all packets then that no rule drops, as to containers and virtual machines; it drops them now.", backendName(e.manager.Name()))
	}
	e.note += unreadRules(e.manager.Name(), slices.Concat(rules.Drops, rules.Unread))
	e.drops = len(rules.Drops) > 0
	return nil
}

// admit removes the ports to let in that a rule of the owner denies: allowing them would have no
// effect.
func (e *Enabling) admit(rules Rules) error {
	e.result.AllowedPorts = []Port{}
	var kept []string
	for _, p := range e.ports {
		if p.ProtocolNumber() != 0 {
			e.result.AllowedProtocols = append(e.result.AllowedProtocols, p.Protocol)
			continue
		}
		r := rules.For(p)
		if r.Verdict != Denied {
			e.result.AllowedPorts = append(e.result.AllowedPorts, p)
			continue
		}
		if claim, ok := e.servedByUsers(p); ok {
			kept = append(kept, fmt.Sprintf("%s, although %s carries %s", r.Rule, p, claim))
			continue
		}
		if err := e.denied(p, r); err != nil {
			return err
		}
	}
	e.note += rulesThatStay(kept)
	return nil
}

// servedByUsers tells what is carried by a port that is not the owner's way in: a program of any user can
// serve a session at it, and is no reason to give up a rule that denies it.
func (e *Enabling) servedByUsers(p Port) (sessions.Claim, bool) {
	i := e.indexAmongUsers(p)
	if i < 0 || slices.Contains(e.keepOpen, p) {
		return sessions.Claim{}, false
	}
	return e.users[i].claim, true
}

// indexAmongUsers is the place of a port among users; -1 where it is none of them.
func (e *Enabling) indexAmongUsers(p Port) int {
	return slices.IndexFunc(e.users, func(c carrier) bool { return c.port == p })
}

// denied refuses where a rule shuts out a port that the owner needs, unless force goes on without.
func (e *Enabling) denied(p Port, r Ruling) error {
	whom := "new remote sessions by "
	if !slices.Contains(e.remotePorts, p) {
		whom = ""
	}
	return e.shutOut(whom+p.String(), r)
}

func (e *Enabling) shutOut(what string, r Ruling) error {
	said := sanitize.Text(fmt.Sprintf("%s shuts out %s: %s", e.manager.Name(), what, r.Rule), 300) + "."
	if !e.force {
		return fault.New(fault.FirewallFailed, "Once it is on, "+said).
			WithFix(sanitize.Text(r.Fix, 600) + " Or at a console of the machine run: sudo sentinel --fix-firewall --force")
	}
	e.note += " As its rules stand, " + said
	return nil
}

// remote makes sure that the ports of remote sessions are known, or that the
// owner has said that they do not matter.
func (e *Enabling) remote(open *OpenPorts, err error) error {
	slices.SortFunc(open.Remote, Port.Compare)
	open.Remote = slices.Compact(open.Remote)
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil && !e.force:
		refusal := fault.Wrap(fault.Unavailable, "The port of remote sessions cannot be found out, and without it the firewall could lock you out", err)
		return refusal.WithFix("Repair that, or at a console of the machine run: sudo sentinel --fix-firewall --force")
	case err != nil:
		if p := (Port{Number: sshDefault, Protocol: "tcp"}); !slices.Contains(open.Remote, p) {
			open.Remote = append([]Port{p}, open.Remote...)
		}
		e.note += " Not all ports of remote sessions could be found out: " + err.Error() + "."
	}
	return nil
}

// Preview returns the expected result of Do, without the fields that are only known afterwards.
func (e *Enabling) Preview() Enabled { return e.result }

// Idle reports whether [Enabling.Do] would change nothing: a firewall that is not sentinel's own is
// on, or one is on trial and this is not a confirmation.
func (e *Enabling) Idle() bool {
	return e.trial != nil && !e.confirm || e.before.State == Active && e.trial == nil && e.manager == nil
}

// Do switches the firewall on for a trial and reads it back, or confirms one. It rolls everything
// back if the firewall does not appear (FIREWALL_FAILED). The end of ctx stops it only before the
// first change.
func (e *Enabling) Do(ctx context.Context) (Enabled, error) {
	if err := ctx.Err(); err != nil {
		return Enabled{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doLimit)
	defer cancel()
	switch {
	case e.confirm:
		return e.keep(ctx)
	case e.trial != nil:
		return e.goOn(), nil
	case e.Idle():
		return e.stayOn(ctx), nil
	}
	release, err := e.trials.lock(ctx)
	if err != nil {
		return Enabled{}, err
	}
	defer release()
	if err := e.overtaken(ctx); err != nil {
		return Enabled{}, err
	}
	if e.before.State == Active {
		return e.stayOn(ctx), nil
	}
	return e.switchOn(ctx)
}

// overtaken looks again, under the lock, because another run can begin and confirm a trial after
// the plan was made: rules on trial must not be made persistent, and a firewall that is on by now
// must not be rolled back.
func (e *Enabling) overtaken(ctx context.Context) error {
	if err := e.attempt.overtaken(); err != nil {
		return err
	}
	if e.before.State != Active && Assess(e.source.Firewall(ctx)).State == Active {
		return fault.New(fault.FirewallFailed, "A firewall was switched on by somebody else in the meantime.").
			WithFix("Run it again to see which one is on: sudo sentinel --fix-firewall")
	}
	return nil
}

// switchOn begins a trial. If there are no trials here, or if force accepts that nothing would end
// one, the firewall is kept at once.
func (e *Enabling) switchOn(ctx context.Context) (Enabled, error) {
	after, err := e.change(ctx)
	if err != nil {
		return Enabled{}, e.takeBack(ctx, e.manager, e.name()+" could not be switched on", err)
	}
	done := e.result
	begun := fmt.Sprintf("%s was switched on%s: %s.", e.name(), e.forTrial("off"), after.Evidence)
	effect := e.allowed("were") + e.note + " " + e.closing("became")
	if e.trial != nil {
		done.ConfirmWithin, done.Persistent = e.left(), new(false)
		done.Details = sanitize.Text(begun+" "+e.trial.howToConfirm(done.ConfirmWithin)+" "+effect, 1200)
		return done, nil
	}
	lasting, remark := e.manager.Keep(ctx)
	done.Persistent = &lasting
	done.Details = sanitize.Text(begun+" "+effect+" "+outlook(e.manager.Name(), lasting, remark)+e.another(), 1200)
	return done, nil
}

// change switches on and reads back: that a firewall is in force, and that its manager says that it
// lets remote sessions in. With force, a missing port is only reported.
func (e *Enabling) change(ctx context.Context) (Status, error) {
	if err := e.manager.Enable(ctx, e.ports, func(c Change) error { return e.record(ctx, c, e.result.AllowedPorts) }); err != nil {
		return Status{}, err
	}
	if f, ok := e.manager.(Forgetful); ok && f.Forgotten() > 0 {
		e.note += fmt.Sprintf(" Of the open connections, %d could not be taken over and may end.", f.Forgotten())
	}
	after := Assess(e.source.Firewall(ctx))
	if after.State != Active {
		return Status{}, errors.New(after.Evidence)
	}
	err := e.manager.Admits(ctx, e.result.AllowedPorts)
	if err == nil {
		err = e.admitsIPv6(ctx)
	}
	if err != nil && e.force {
		e.note += " Remote sessions may be shut out: " + err.Error() + "."
		return after, nil
	}
	return after, err
}

// keep confirms the trial.
func (e *Enabling) keep(ctx context.Context) (Enabled, error) {
	t, lasting, remark, err := e.trials.confirm(ctx, e.source, e.trial)
	if err != nil {
		return Enabled{}, err
	}
	done := e.result
	done.FirewallStatus, done.Persistent = Active, &lasting
	done.Details = sanitize.Text("The firewall ("+t.Change.Manager+") was confirmed and stays on. "+outlook(t.Change.Manager, lasting, remark)+e.another(), 900)
	return done, nil
}

// goOn returns the result for a firewall that is on trial.
func (e *Enabling) goOn() Enabled {
	done := e.result
	done.Details = fmt.Sprintf("%s is on trial already, and nothing was changed. %s", done.Manager, e.trial.howToConfirm(done.ConfirmWithin))
	return done
}

// stayOn returns the result for a firewall that is on. Sentinel's own is made persistent if it is
// not yet.
func (e *Enabling) stayOn(ctx context.Context) Enabled {
	done := e.result
	done.Details = "The firewall was on already: " + e.before.Evidence + ". Its rules were not touched." + e.another()
	if e.manager != nil {
		lasting, remark := e.manager.Keep(ctx)
		done.Persistent = &lasting
		done.Details += " " + outlook(e.manager.Name(), lasting, remark)
	}
	done.Details = sanitize.Text(done.Details, 900)
	return done
}

// distinct returns one listener per port, in order: a server often has a socket for each address
// family.
func distinct(list []Listener) []Listener {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Listener) int { return a.Compare(b.Port) })
	list = slices.CompactFunc(list, func(a, b Listener) bool { return a.Port == b.Port })
	for i := range list {
		list[i].Process = sanitize.Text(list[i].Process, 64)
	}
	return list
}

// partition divides the listeners by what is said of them, both parts in the order of an answer.
func (o *OpenPorts) partition(is func(Listener) bool) (those, others []Listener) {
	those, others = []Listener{}, []Listener{}
	for _, l := range distinct(o.Listeners) {
		if is(l) {
			those = append(those, l)
		} else {
			others = append(others, l)
		}
	}
	return o.inTurn(those), o.inTurn(others)
}

// inTurn orders listeners for lists that are cut. What the system serves has every other place, and users
// have theirs in turn: anybody can listen at any number of ports, with any number of connections.
func (o *OpenPorts) inTurn(list []Listener) []Listener {
	slices.SortStableFunc(list, func(a, b Listener) int { return b.inUse() - a.inUse() })
	list = answer.InTurn(list, func(l Listener) int { return o.server(l.Port) })
	system := func(l Listener) bool { return o.server(l.Port) == 0 }
	slices.SortStableFunc(list, func(a, b Listener) int { return answer.TrueFirst(system(a), system(b)) })
	return answer.InTurn(list, system)
}

// inUse returns the open connections, as far as they are known.
func (l Listener) inUse() int {
	if l.Connections == nil {
		return 0
	}
	return *l.Connections
}

// fewest is how many rows of what a change closes or opens stay, however long they are: as many as who is
// asked about it reads.
const fewest = 5

// Shorten leaves out the last row of the longer list; false where that would leave out what matters.
func (e *Enabled) Shorten() bool {
	switch stays, closes := len(e.StaysOpen), len(e.Closes); {
	case stays > 0 && stays >= closes:
		e.StaysOpen, e.StaysOpenTruncated = e.StaysOpen[:stays-1], true
	case closes > fewest:
		e.Closes, e.ClosesTruncated = e.Closes[:closes-1], true
	default:
		return false
	}
	return true
}

// capped cuts a list for an answer.
func capped(list []Listener) (shown []Listener, total int, truncated bool) {
	return list[:min(len(list), maxListeners)], len(list), len(list) > maxListeners
}
