// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"slices"
	"time"

	"sentinel/internal/fault"
)

// endLimit bounds all that is asked about the end of one process.
const endLimit = 5 * time.Second

// An End is that of a process, by a signal, which may be the end of the service that runs it.
type End struct {
	Name  string // of the unit of the process, as the system has it
	PID   int
	Force bool // lifts what it lifts of a restart, and the protection of the service by its own name
	// Graceful says that the process is asked to end.
	Graceful bool
	// Carries says that whoever asks agrees to the end of the sessions of others that the process carries.
	Carries   bool
	Protected []string // as in [Options]
	// Refusal makes the error that says why.
	Refusal func(why string, lifts bool) *fault.Error
	Dependents
}

// CheckEnd refuses the end of a process by what it does to other units and to the system, as
// [PlanRestart] refuses a restart, and returns what goes with it. Nothing does where the process is
// not one whose end counts, or another program is the service manager. It fails with what Refusal makes, and
// with UNAVAILABLE, unless Force accepts what cannot be read.
func CheckEnd(ctx context.Context, source Source, e End) (Others, error) {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	manager, err := source.Open(ctx)
	if err != nil {
		return Others{}, e.unread(naming(err, e.Name))
	}
	defer manager.Close()
	p := planner{
		kind: source.Kind(), manager: manager, refusal: e.Refusal, judged: e.PID, what: "the end of " + shown(e.Name),
		options: Options{Force: e.Force, Protected: e.Protected, Dependents: e.Dependents},
	}
	err = p.checkProcess(ctx, e)
	p.others.settle()
	return p.others, e.unread(err)
}

// unread is an error of what could not be read, unless that is accepted.
func (e End) unread(err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, ok && known.Code == fault.Unsupported:
		return nil
	case ok && known.Code != fault.Unavailable, errors.Is(err, context.Canceled):
		return err
	case e.Force:
		return nil
	}
	return fault.Wrap(fault.Unavailable, "What depends on "+shown(e.Name)+" cannot be read", err).WithFix(repairOrForce)
}

func (p *planner) checkProcess(ctx context.Context, e End) error {
	u, err := p.manager.Unit(ctx, e.Name)
	if errors.Is(err, ErrNoUnit) || err == nil && (u.Missing || !u.Service) {
		return nil
	}
	if err != nil {
		return err
	}
	if ends, err := p.endsWith(ctx, u, e.PID); err != nil || !ends {
		return err
	}
	if err := p.depend(ctx); err != nil {
		return err
	}
	if err := p.checkService(ctx, u, e); err != nil {
		return err
	}
	return p.checkSideEffects(ctx, u, e.Graceful)
}

// endsWith says whether the service ends with the process: its main one, the command that starts or
// stops it, or the last of one that has no main process.
func (p *planner) endsWith(ctx context.Context, u Unit, pid int) (bool, error) {
	if pid == u.MainPID || pid == u.ControlPID {
		return true, nil
	}
	if u.MainPID != 0 || u.ControlPID != 0 || u.Active == "inactive" || u.Active == "failed" { // which has ended already
		return false, nil
	}
	use, err := p.manager.Use(ctx, u)
	return len(use.PIDs) <= 1, err
}

// checkService refuses for the service itself: what its names say, the call that runs in it, and the sessions
// and file systems that its other processes carry, which the manager ends as well.
func (p *planner) checkService(ctx context.Context, u Unit, e End) error {
	if e.Force {
		return nil
	}
	if why, _ := p.protectedOwn(u, e); why != "" {
		return p.refusal(shown(u.Name)+" is protected: "+why, true)
	}
	if why, _, err := p.ownService(u); err != nil || why != "" {
		if err != nil {
			return err
		}
		return p.refusal(shown(u.Name)+" ends with it, and "+why, true)
	}
	l, err := p.loses(ctx, u, end{comesBack: u.comesBack(e.Graceful), agreed: e.Carries})
	if err != nil || l.why == "" {
		return err
	}
	return p.lost(shown(u.Name)+" ends with it, and ", l)
}

// protectedOwn leaves it to the sessions that a process carries whether it is protected, where those of
// others are to end: their services are protected by names that are made for each session.
func (p *planner) protectedOwn(u Unit, e End) (why string, lifts bool) {
	if !e.Carries {
		return p.kind.protectNames(u, e.Name, p.options)
	}
	if slices.ContainsFunc(append([]string{e.Name, u.Name}, u.Names...), func(name string) bool { return p.kind.configured(name, e.Protected) }) {
		return "the configuration of this machine says so", true
	}
	return "", true
}

// comesBack says whether the manager surely starts the service again. What is asked to end is killed if it does not.
func (u Unit) comesBack(graceful bool) bool {
	return u.BackAfterKill && (u.BackAfterTerm || !graceful)
}

// checkSideEffects refuses for what goes with the service. A manager that starts it again does to others what a
// restart does, but for those that are bound to it: these stay off, as do those that only it needs unless it surely
// comes back.
func (p *planner) checkSideEffects(ctx context.Context, u Unit, graceful bool) error {
	names := u.BoundTo
	if !u.comesBack(graceful) {
		p.ends = u.Name
		unneeded, err := p.unneeded(ctx, u, func(name string) bool { return name == u.Name })
		if err != nil {
			return err
		}
		names = slices.Concat(names, unneeded)
	}
	if err := p.checkLost(ctx, u.Name, names, stops); err != nil {
		return err
	}
	if u.MayRestart {
		return p.checkStopAndStart(ctx, u)
	}
	gone := u.ending()
	gone.Starts, gone.OnFailure, gone.Stops = slices.Concat(u.OnSuccess, u.OnFailure), nil, nil
	return p.checkStarts(ctx, gone)
}
