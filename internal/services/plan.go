// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sentinel/internal/fault"
)

// DefaultLimit is how long a restart may take to settle before it is left to
// the service manager.
const DefaultLimit = 40 * time.Second

// planLimit bounds all checks together; they take milliseconds.
const planLimit = 15 * time.Second

// Options say what to restart.
type Options struct {
	Name      string
	Force     bool          // lifts the protections of sessions and of the configuration, and no others
	Protected []string      // services of the configuration, or patterns of path.Match
	Limit     time.Duration // 0 means DefaultLimit
}

// A Restart is one that may be done: every check has passed and nothing has
// changed yet.
type Restart struct {
	manager Manager
	unit    Unit
	asked   string
	limit   time.Duration
	settle  time.Duration // how long a service must stay up
	grace   time.Duration // how long one that died once may take to stay up
}

type planner struct {
	manager Manager
	options Options
}

// PlanRestart checks whether a service may be restarted and changes nothing. It
// fails with INVALID_SERVICE, SERVICE_NOT_FOUND, SERVICE_MASKED, SERVICE_INACTIVE,
// PROTECTED_SERVICE, RESTART_FAILED (its unit file cannot be used), UNSUPPORTED or
// UNAVAILABLE. The caller closes what it returns.
func PlanRestart(ctx context.Context, source Source, o Options) (*Restart, error) {
	name, err := unitName(o.Name)
	if err != nil {
		return nil, err
	}
	if r := ruleOf(name); r != nil && !r.lifts {
		return nil, refusal(name, r.why, false)
	}
	ctx, cancel := context.WithTimeout(ctx, planLimit)
	defer cancel()
	manager, err := source.Open(ctx)
	if err != nil {
		return nil, err
	}
	p := planner{manager: manager, options: o}
	unit, err := p.check(ctx, name)
	if err != nil {
		manager.Close()
		return nil, err
	}
	r := &Restart{manager: manager, unit: unit, limit: o.Limit, settle: 2500 * time.Millisecond, grace: 10 * time.Second}
	if r.limit == 0 {
		r.limit = DefaultLimit
	}
	if name != unit.Name {
		r.asked = name
	}
	return r, nil
}

// Close lets go of the service manager.
func (r *Restart) Close() { r.manager.Close() }

// Name is the real name of the service.
func (r *Restart) Name() string { return r.unit.Name }

// Summary says what would be done.
func (r *Restart) Summary() string {
	state := r.unit.Active + ", " + r.unit.Sub
	if r.unit.MainPID > 0 {
		state += fmt.Sprintf(", main PID %d", r.unit.MainPID)
	}
	alias := ""
	if r.asked != "" {
		alias = ", which is the real name of " + r.asked + ","
	}
	return r.unit.Name + alias + " (" + state + ") would be restarted." + r.staleNote()
}

// staleNote tells that a restart does not do what an edit of the unit file asks
// for.
func (r *Restart) staleNote() string {
	if !r.unit.NeedReload {
		return ""
	}
	return " Its unit file has changed since systemd read it, and the old one counts until: systemctl daemon-reload"
}

// check reads the service and applies every rule, the gravest first.
func (p *planner) check(ctx context.Context, name string) (Unit, error) {
	u, err := p.manager.Unit(ctx, name)
	if err != nil {
		return Unit{}, unavailable(err)
	}
	if u.Load == "not-found" {
		return Unit{}, p.notFound(ctx, name)
	}
	if !strings.HasSuffix(u.Name, suffix) {
		return Unit{}, refusal(name, "it is another name of "+shown(u.Name)+", which is not a service", false)
	}
	if err := protectNames(u, name, p.options); err != nil {
		return Unit{}, err
	}
	if err := checkLoaded(u); err != nil {
		return Unit{}, err
	}
	if err := p.checkReach(ctx, u); err != nil {
		return Unit{}, err
	}
	return u, checkWanted(u)
}

// notFound names services that may have been meant. Without their list it only
// says that there is none.
func (p *planner) notFound(ctx context.Context, name string) error {
	e := fault.New(fault.ServiceNotFound, "There is no service "+name+".")
	names, err := p.manager.Names(ctx)
	if err != nil {
		return e
	}
	if meant := near(name, names); len(meant) > 0 {
		return e.WithFix("Did you mean " + strings.Join(meant, " or ") + "? All of them: systemctl list-unit-files --type=service")
	}
	return e
}

// checkLoaded refuses what the manager has not been able to read, or does not
// start and stop for anybody.
func checkLoaded(u Unit) error {
	switch {
	case u.Load == "masked":
		return fault.New(fault.ServiceMasked, u.Name+" is masked: its administrator has made starting it impossible.").
			WithFix("If it is meant to run, unmask it first with: systemctl unmask " + u.Name)
	case u.NotManual: // for systemd, such a unit cannot be started either
		return refusal(u.Name, "its unit file does not let it be started or stopped by hand", false)
	case u.Load != "loaded" || u.NoStart:
		return fault.New(fault.RestartFailed, "The unit file of "+u.Name+" cannot be used ("+shown(u.Load)+"); nothing was changed.").
			WithFix("Find what is wrong with: systemd-analyze verify " + u.Name)
	}
	return nil
}

// checkWanted refuses to start what is meant to be off. A unit that is not on
// counts as wanted only when its administrator enabled it.
func checkWanted(u Unit) error {
	if on(u) || u.Active == "failed" || enabled(u) {
		return nil
	}
	e := fault.New(fault.ServiceInactive, fmt.Sprintf("%s is not running (%s) and not enabled (%s); restarting would start what is meant to be off.",
		u.Name, shown(u.Active), shown(u.FileState)))
	if len(u.TriggeredBy) > 0 {
		return e.WithFix("It is started when it is needed by " + shown(strings.Join(u.TriggeredBy, ", ")) + "; to start it now: systemctl start " + u.Name)
	}
	return e.WithFix("Start it by hand if it is wanted: systemctl start " + u.Name)
}

// enabled reads the state of a unit file (systemctl(1), is-enabled). What a
// generator made, such as from a script of /etc/init.d, is enabled where the start of the
// system wants it; static, indirect, linked and transient units are not.
func enabled(u Unit) bool {
	switch u.FileState {
	case "enabled", "enabled-runtime":
		return true
	case "generated":
		return slices.Contains(u.WantedBy, "multi-user.target") || slices.Contains(u.WantedBy, "graphical.target")
	}
	return false
}

// unavailable keeps the end of a context apart from a manager that does not
// answer.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Wrap(fault.Unavailable, "systemd cannot be asked", err).WithFix("See whether it answers to: systemctl is-system-running")
}
