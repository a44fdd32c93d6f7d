// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

const (
	// doLimit bounds the change with its read-back. Once begun, it is not given
	// up because the caller has left: half a firewall locks people out.
	doLimit = 26 * time.Second
	// undoLimit bounds taking it back, on top.
	undoLimit = 10 * time.Second
	// maxCloses caps the list of what becomes unreachable.
	maxCloses = 30
)

// sshDefault is what --force lets in when the port in use cannot be found out.
const sshDefault = 22

// EnableOptions change how the firewall is switched on.
type EnableOptions struct {
	// Force goes on where the way in could not be found out for certain, or where
	// a rule of the owner shuts it.
	Force bool
}

// Enabled says what became of the firewall.
type Enabled struct {
	FirewallStatus string `json:"firewall_status"` // as read back
	Changed        bool   `json:"changed"`         // false when a firewall was on already
	// Backend is [UFW], [Firewalld], [Nftables] or [ApplicationFirewall]; absent when
	// a firewall was on already that none of them has loaded.
	Manager string `json:"manager,omitempty"`
	// AllowedPorts are those of remote sessions, which were let in first unless the
	// rules do that by themselves; absent, as are the other lists, when a firewall was on
	// already: its rules are not looked at.
	AllowedPorts []Port `json:"allowed_ports,omitzero"`
	// Closes lists what other hosts could reach and now cannot; at most 30. It is
	// empty when that is nothing, and then there is no total.
	Closes          []Listener `json:"closes,omitzero"`
	ClosesTotal     int        `json:"closes_total,omitempty"`     // before the list was cut
	ClosesTruncated bool       `json:"closes_truncated,omitempty"` // closes does not show all
	// Persistent says whether the firewall comes back after a reboot; absent
	// when that is not known.
	Persistent *bool `json:"persistent,omitempty"`
	// Details says it in sentences; absent from a preview.
	Details string `json:"details,omitempty"`
}

// An Enabling is a firewall that is about to be switched on, or one that is on.
type Enabling struct {
	source  Source
	manager Backend // nil when a firewall is on that is not sentinel's own
	before  Status
	result  Enabled
	force   bool
	ports   []Port       // to be let in
	peers   []netip.Addr // of open remote sessions
	app     *Application // before; nil on other systems than macOS
	note    string       // sentences about what force has passed over
}

// PlanEnable finds out what would be done. It changes nothing. A firewall that
// is on already is a plan that says so. It fails with FIREWALL_UNAVAILABLE when there is
// nothing to switch on, and when it could lock the owner out: with UNAVAILABLE because
// the port of remote sessions is not known, with FIREWALL_FAILED because a rule shuts it.
func PlanEnable(ctx context.Context, source Source, wall Manager, o EnableOptions) (*Enabling, error) {
	facts := source.Firewall(ctx)
	e := &Enabling{source: source, before: Assess(facts), force: o.Force, app: facts.Application}
	e.result = Enabled{FirewallStatus: Active}
	if e.before.State == Unknown {
		if known, ok := errors.AsType[*fault.Error](facts.unread()); ok {
			return nil, known
		}
		return nil, fault.New(fault.Unavailable, "Whether a firewall is on cannot be told: "+e.before.Evidence+".").
			WithFix("Run it as root: sudo sentinel --fix-firewall")
	}
	manager, err := wall.Backend(ctx)
	if e.before.State == Active {
		e.alreadyOn(facts, manager)
		return e, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	e.manager, e.result.Manager = manager, manager.Name()
	e.result.Changed = true
	if err := e.survey(ctx, wall); err != nil {
		return nil, err
	}
	return e, ctx.Err()
}

// alreadyOn notes whose firewall it is. Only that of sentinel itself is looked
// after further: manager, which could be switched on, need not be the one that is.
func (e *Enabling) alreadyOn(f Facts, manager Backend) {
	inTable := func(name string) bool {
		return slices.ContainsFunc(f.Chains, func(c Chain) bool { return c.Table == name && c.Input })
	}
	switch {
	case f.Application != nil:
		e.result.Manager = ApplicationFirewall
	case inTable(BaselineTable):
		e.result.Manager = Nftables
		if manager != nil && manager.Name() == Nftables {
			e.manager = manager
		}
	case inTable(Firewalld) || slices.Contains(f.Managers, Firewalld):
		e.result.Manager = Firewalld
	case slices.Contains(f.Managers, UFW):
		e.result.Manager = UFW
	}
}

// survey finds the ports to let in and what becomes unreachable.
func (e *Enabling) survey(ctx context.Context, wall Manager) error {
	doors, err := wall.OpenPorts(ctx)
	if err := e.ways(&doors, err); err != nil {
		return err
	}
	rules, err := e.manager.Rules(ctx, doors.Peers)
	if err != nil {
		return err
	}
	e.ports, e.peers = doors.Remote, doors.Peers
	if err := e.admit(rules); err != nil {
		return err
	}
	closes := []Listener{}
	for _, l := range distinct(doors.Listeners) {
		if rules(l.Port).Verdict != Open && !contains(e.ports, l.Port) {
			closes = append(closes, l)
		}
	}
	e.result.ClosesTotal = len(closes)
	e.result.ClosesTruncated = e.result.ClosesTotal > maxCloses
	e.result.Closes = closes[:min(len(closes), maxCloses)]
	return nil
}

// admit sorts out the ports of remote sessions that a rule of the owner shuts:
// a firewall that is switched on over such a rule is a way to be locked out.
func (e *Enabling) admit(rules Rules) error {
	e.result.AllowedPorts = []Port{}
	for _, p := range e.ports {
		r := rules(p)
		if r.Verdict != Refused {
			e.result.AllowedPorts = append(e.result.AllowedPorts, p)
			continue
		}
		said := sanitize.Text(fmt.Sprintf("%s shuts out new remote sessions by %s: %s", e.manager.Name(), p, r.Rule), 300) + "."
		if !e.force {
			return fault.New(fault.FirewallFailed, "Once it is on, "+said).
				WithFix(sanitize.Text(r.Fix, 600) + " Or at a console of the machine run: sudo sentinel --fix-firewall --force")
		}
		e.note += " As its rules stand, " + said
	}
	return nil
}

// ways makes sure that the ways of remote sessions are known, or that the owner
// has said that they do not matter.
func (e *Enabling) ways(doors *OpenPorts, err error) error {
	slices.SortFunc(doors.Remote, Port.Compare)
	doors.Remote = slices.Compact(doors.Remote)
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil && !e.force:
		refusal := fault.Wrap(fault.Unavailable, "The port of remote sessions cannot be found out, and without it the firewall could lock you out", err)
		return refusal.WithFix("Mend that, or at a console of the machine run: sudo sentinel --fix-firewall --force")
	case err != nil:
		if p := (Port{Number: sshDefault, Protocol: "tcp"}); !contains(doors.Remote, p) {
			doors.Remote = append([]Port{p}, doors.Remote...)
		}
		e.note = " Not all ports of remote sessions could be found out: " + err.Error() + "."
	}
	return nil
}

// Summary says in one or two sentences what Do would do.
func (e *Enabling) Summary() string {
	if e.before.State == Active {
		return "The firewall is on already: " + e.before.Evidence + ". Nothing would be changed." + e.another()
	}
	return fmt.Sprintf("%s would be switched on. %s %s", e.name(), e.allowed("would be"), e.closing("would become")) + e.note
}

// Preview returns what Do is expected to return, less what is only known
// afterwards.
func (e *Enabling) Preview() Enabled { return e.result }

// Do switches the firewall on, reads it back, and takes everything back when
// it does not show or when it would shut out remote sessions (FIREWALL_FAILED). A
// caller that leaves before the first change stops it, later no more.
func (e *Enabling) Do(ctx context.Context) (Enabled, error) {
	if err := ctx.Err(); err != nil {
		return Enabled{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doLimit)
	defer cancel()
	if e.before.State == Active {
		return e.stayOn(ctx), nil
	}
	after, err := e.change(ctx)
	if err != nil {
		return Enabled{}, e.takeBack(ctx, err)
	}
	done := e.result
	lasting, why := e.manager.Keep(ctx)
	done.Persistent = &lasting
	done.Details = sanitize.Text(fmt.Sprintf("%s was switched on: %s. %s%s %s %s", e.name(), after.Evidence, e.allowed("were"), e.note, e.closing("became"), e.outlook(lasting, why))+e.another(), 900)
	return done, nil
}

// stayOn answers for a firewall that is on. That of sentinel itself is made to
// last if it does not yet.
func (e *Enabling) stayOn(ctx context.Context) Enabled {
	done := e.result
	done.Details = "The firewall was on already: " + e.before.Evidence + ". Its rules were not touched." + e.another()
	if e.manager != nil {
		lasting, why := e.manager.Keep(ctx)
		done.Persistent = &lasting
		done.Details += " " + e.outlook(lasting, why)
	}
	done.Details = sanitize.Text(done.Details, 900)
	return done
}

// change switches on and reads back: that a firewall is in force, and that it
// lets remote sessions in. Whoever forces it is only told when it does not.
func (e *Enabling) change(ctx context.Context) (Status, error) {
	if err := e.manager.Enable(ctx, e.ports); err != nil {
		return Status{}, err
	}
	after := Assess(e.source.Firewall(ctx))
	if after.State != Active {
		return Status{}, errors.New(after.Evidence)
	}
	err := e.manager.Admits(ctx, e.result.AllowedPorts, e.peers)
	if err != nil && e.force {
		e.note += " Remote sessions may be shut out: " + err.Error() + "."
		return after, nil
	}
	return after, err
}

// takeBack undoes what was done, and says when not even that worked.
func (e *Enabling) takeBack(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	failure := fault.Wrap(fault.FirewallFailed, e.name()+" could not be switched on", cause)
	if err := e.manager.Undo(ctx); err != nil {
		failure.Message += "; taking it back failed too: " + err.Error()
		return failure.WithFix("Look at the firewall from a console of the machine: it may be half on.")
	}
	failure.Message += "; what was changed was taken back"
	if known, ok := errors.AsType[*fault.Error](cause); ok && known.Fix != "" {
		return failure.WithFix(known.Fix)
	}
	return failure
}

// name begins a sentence.
func (e *Enabling) name() string {
	switch e.manager.Name() {
	case Nftables:
		return "A rule set of sentinel's own in nftables"
	case ApplicationFirewall:
		return "The Application Firewall"
	default:
		return e.manager.Name()
	}
}

// allowed is a sentence about the ports of remote sessions.
func (e *Enabling) allowed(were string) string {
	if len(e.ports) == 0 {
		return "No server for remote sessions was found, so no port is let in for one."
	}
	if len(e.result.AllowedPorts) == 0 {
		return "No port of remote sessions is let in for everyone."
	}
	var names []string
	for _, p := range e.result.AllowedPorts {
		names = append(names, p.String())
	}
	if e.app != nil {
		return fmt.Sprintf("Remote sessions by %s are let in as before, and open ones go on.", strings.Join(names, ", "))
	}
	open := "sessions"
	if e.manager.Name() == Nftables {
		open = "connections" // the others know only those that their rules let in anyway
	}
	return fmt.Sprintf("The ports of remote sessions (%s) %s let in first; open %s go on.", strings.Join(names, ", "), were, open)
}

// closing is a sentence about what becomes unreachable, and on macOS another
// about what nobody can tell in advance.
func (e *Enabling) closing(become string) string {
	if e.app != nil {
		if e.result.ClosesTotal == 0 {
			return "No rule of it shuts a service out. " + e.app.unlisted()
		}
		return e.closed(become) + " " + e.app.unlisted()
	}
	return e.closed(become)
}

func (e *Enabling) closed(become string) string {
	switch n := e.result.ClosesTotal; n {
	case 0:
		return "No other service loses its reach."
	case 1:
		return fmt.Sprintf("One other service %s unreachable from other hosts; see closes.", become)
	default:
		return fmt.Sprintf("%d other services %s unreachable from other hosts; see closes.", n, become)
	}
}

// outlook is a sentence about the next boot, and how to change a rule set that
// has no other tool.
func (e *Enabling) outlook(lasting bool, why string) string {
	text := "It comes back after a reboot."
	if !lasting {
		text = "It does not come back after a reboot: " + why + "."
	}
	if e.manager.Name() == Nftables {
		text += " Its ports are in /var/lib/sentinel/firewall.json: change them there and run sudo sentinel --restore-blocklist," +
			" or remove the file and run sudo nft delete table inet " + BaselineTable + " to switch it off."
	}
	return text
}

// another is a sentence about letting one more port in with the owner's own tool.
func (e *Enabling) another() string {
	example := Port{Number: 8080, Protocol: "tcp"}
	if len(e.result.Closes) > 0 {
		example = e.result.Closes[0].Port
	}
	switch e.result.Manager {
	case UFW:
		return fmt.Sprintf(" To let another port in: sudo ufw allow %s.", example)
	case ApplicationFirewall:
		return " To let another program in: System Settings, Network, Firewall, Options."
	case Firewalld:
		return fmt.Sprintf(" To let another port in: sudo firewall-cmd --permanent --add-port=%s, then sudo firewall-cmd --reload.", example)
	default:
		return ""
	}
}

func contains(ports []Port, p Port) bool { return slices.Contains(ports, p) }

// distinct returns one listener a port, in order: a server often has a socket
// for each family.
func distinct(list []Listener) []Listener {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Listener) int { return a.Compare(b.Port) })
	list = slices.CompactFunc(list, func(a, b Listener) bool { return a.Port == b.Port })
	for i := range list {
		list[i].Process = sanitize.Text(list[i].Process, 64)
	}
	return list
}
