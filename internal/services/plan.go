// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/fault"
)

// DefaultLimit is how long a restart may take to settle before it is left to
// the service manager.
const DefaultLimit = 40 * time.Second

// DefaultSettle is how long a service must stay up after its restart: some take seconds to find that
// they cannot work.
const DefaultSettle = 10 * time.Second

// planLimit bounds all checks together; they take milliseconds.
const planLimit = 15 * time.Second

// Options say what to restart.
type Options struct {
	Name      string
	Force     bool          // lifts the protections of sessions and of the configuration, and no others
	Protected []string      // services of the configuration, or patterns of path.Match
	Limit     time.Duration // 0 means DefaultLimit
	Settle    time.Duration // how long a service must stay up; 0 means DefaultSettle
	Dependents
}

// A Restart has passed every check and may be done; nothing has changed yet.
type Restart struct {
	kind    *Kind
	manager Manager
	unit    Unit
	asked   string
	doubts  string // why it may not come back
	tested  string // what the test of its configuration said
	limit   time.Duration
	settle  time.Duration // how long a service must stay up
	grace   time.Duration // how long one that died once may take to stay up
	others  Others
}

type planner struct {
	kind    *Kind
	manager Manager
	options Options
	on      dependence
	what    string // that is checked, as in "its restart stops ... as well"
	refusal func(why string, lifts bool) *fault.Error
	judged  int    // the process that is to be ended; 0 for none
	ends    string // the service that may not come back; empty for none
	// relations are the units that [planner.unneeded] has read.
	relations map[string]Unit
	others    Others // that the checks have come by
}

// PlanRestart checks whether a service may be restarted and changes nothing. It
// fails with INVALID_SERVICE, SERVICE_NOT_FOUND, SERVICE_MASKED, SERVICE_INACTIVE,
// PROTECTED_SERVICE, BROKEN_CONFIGURATION, RESTART_FAILED (its unit file cannot be used),
// UNSUPPORTED or UNAVAILABLE. The caller closes what it returns.
func PlanRestart(ctx context.Context, source Source, o Options) (*Restart, error) {
	kind := source.Kind()
	name, err := kind.CheckName(o.Name)
	if err != nil {
		return nil, err
	}
	if why, lifts := kind.Protection(name); !lifts {
		return nil, Refusal(name, why, false)
	}
	ctx, cancel := context.WithTimeout(ctx, planLimit)
	defer cancel()
	manager, err := source.Open(ctx)
	if err != nil {
		return nil, naming(err, name)
	}
	p := planner{kind: kind, manager: manager, options: o, what: "its restart"}
	unit, err := p.check(ctx, name)
	var doubts, tested string
	if err == nil {
		doubts, err = p.checkObstacles(ctx, unit)
	}
	if err == nil {
		tested, err = p.testConfiguration(ctx, unit)
	}
	if err != nil {
		manager.Close()
		return nil, err
	}
	r := &Restart{
		kind: kind, manager: manager, unit: unit, doubts: doubts, tested: tested, grace: kind.CrashGrace, others: p.others,
		limit: cmp.Or(o.Limit, DefaultLimit), settle: cmp.Or(o.Settle, DefaultSettle),
	}
	if name != unit.Name {
		r.asked = name
	}
	return r, nil
}

// Close closes the connection to the service manager.
func (r *Restart) Close() { r.manager.Close() }

// Name is the real name of the service.
func (r *Restart) Name() string { return r.unit.Name }

// Others are the units that the restart restarts, stops or starts as well.
func (r *Restart) Others() Others { return r.others }

// Look is the command that shows the service to a person.
func (r *Restart) Look() string { return r.kind.Commands.Status + " " + r.unit.Name }

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
	return r.unit.Name + alias + " (" + state + ") would be restarted." + r.others.Sentence("It") + r.unit.Hosted + r.before() + r.doubts + r.tested + r.unit.Stale
}

// check reads the service and applies every rule, the most serious first.
func (p *planner) check(ctx context.Context, name string) (Unit, error) {
	u, err := p.manager.Unit(ctx, name)
	if err != nil {
		return Unit{}, unavailable(p.kind, err)
	}
	if u.Missing {
		return Unit{}, p.notFound(ctx, name, "restart_service")
	}
	if !u.Service {
		return Unit{}, Refusal(name, "it is another name of "+shown(u.Name)+", which is not a service", false)
	}
	p.refusal = func(why string, lifts bool) *fault.Error { return Refusal(u.Name, why, lifts) }
	if why, lifts := p.kind.protectNames(u, name, p.options); why != "" {
		return Unit{}, p.refusal(why, lifts)
	}
	if u.Unusable != nil {
		return Unit{}, u.Unusable
	}
	if err := p.depend(ctx); err != nil {
		return Unit{}, err
	}
	if err := p.checkReach(ctx, u); err != nil {
		return Unit{}, err
	}
	if on(u) || u.Active == "failed" {
		return u, nil
	}
	return u, u.Dormant
}

// notFound suggests services with similar names, where they can be listed.
func (p *planner) notFound(ctx context.Context, name, tool string) error {
	e := fault.New(fault.ServiceNotFound, "There is no service "+name+".").WithFix("List the services with: " + p.kind.Commands.Loaded).
		WithToolFix("Ask the user for the name of the service. Those that have failed are in failed_units of: sentinel --json")
	names, err := p.manager.Names(ctx)
	if err != nil {
		return e
	}
	if meant := p.kind.Similar(name, names); len(meant) > 0 {
		did := "Did you mean " + strings.Join(meant, " or ") + "?"
		return e.WithFix(did + " All of them: " + p.kind.Commands.All).WithToolFix(did + " Call " + tool + " again with that as service.")
	}
	return e
}

// unavailable reports a manager that does not answer. Cancellation and errors
// with a code of their own pass unchanged.
func unavailable(k *Kind, err error) error {
	var known *fault.Error
	if errors.Is(err, context.Canceled) || errors.As(err, &known) {
		return err
	}
	return fault.Wrap(fault.Unavailable, k.Name+" cannot be asked", err).WithFix("See whether it answers to: " + k.Commands.Alive)
}

// NamePlace stands for the name of a service in the fix of an error about the service manager.
const NamePlace = "NAME"

// naming puts the service into the fix of an error about the service manager, so that its command can be
// run as it stands.
func naming(err error, service string) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || service == "" {
		return err
	}
	return known.WithFix(strings.ReplaceAll(known.Fix, NamePlace, strings.TrimSuffix(service, ".service")))
}
