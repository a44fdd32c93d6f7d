// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

// refuseNumber refuses the IDs that are never to be ended, before anything is
// asked about them.
func refuseNumber(pid int) error {
	switch {
	case pid < 1 || pid > maxPID:
		return fault.New(fault.InvalidPID, fmt.Sprintf("%d is not a process ID; those go from 1 to %d.", pid, maxPID))
	case pid == 1:
		return fault.New(fault.ProtectedProcess, "Process 1 must not be ended: every other process would end with it.").
			WithFix("Restart the machine, or the container, if that is what is wanted.")
	case pid == os.Getpid():
		return fault.New(fault.ProtectedProcess, fmt.Sprintf("Process %d must not be ended: it is this sentinel run itself.", pid)).
			WithFix("Nothing needs to be done; it ends when it has answered.")
	}
	return nil
}

// expect compares the process with what the caller expects. The start comes
// first: with another start it is another process. Names are compared as they are shown, since
// that is all the caller has seen.
func (p *Termination) expect() error {
	if want := p.target.ExpectStart; want != "" && want != p.facts.Start {
		return p.changed("start_id", p.facts.Start, want)
	}
	if p.facts.Ended {
		return p.zombie()
	}
	if want := p.target.ExpectName; want != "" && !p.hasName(sanitize.Text(want, maxName)) {
		return p.changed("name", p.name(), want)
	}
	return nil
}

// hasName accepts the name as get_top_processes shows it and as the kernel has
// it. The kernel cuts long names; without the arguments the rest is unknown, and any will do.
func (p *Termination) hasName(want string) bool {
	kernel := sanitize.Text(p.facts.Name, maxName)
	cut := len(p.facts.Name) >= maxKernelName && len(p.facts.Arguments) == 0
	return want == p.name() || want == kernel || cut && strings.HasPrefix(want, kernel)
}

func (p *Termination) changed(what, is, want string) *fault.Error {
	return fault.New(fault.ProcessChanged, fmt.Sprintf("Process %d is not the one that was expected: its %s is %s, not %s.",
		p.target.PID, what, sanitize.Quoted(is, maxName), sanitize.Quoted(want, maxName)))
}

const whyConfigured = "the configuration protects processes of this name"

// refuse applies the rules. Only the first cannot be lifted by force.
func (p *Termination) refuse(ctx context.Context) error {
	if p.facts.Kernel {
		return p.protectedAs("it is a thread of the kernel, which no signal ends").
			WithFix("Find what keeps the kernel busy: a device, a file system or the network.")
	}
	if p.target.Force {
		return nil
	}
	lineage, err := p.source.Lineage(ctx)
	if err != nil {
		return unavailable(ctx, "The ancestors of this sentinel run cannot be read, and must not be ended", err)
	}
	if at := slices.IndexFunc(lineage, func(r Relative) bool { return r.PID == p.target.PID }); at >= 0 {
		return p.protectedAs(ancestorReason(at)).
			WithFix("End it from another session, or add --force on the command line.")
	}
	if err := p.refuseRun(ctx); err != nil {
		return err
	}
	if p.protectedByName(ctx) {
		return p.protectedAs(whyConfigured).
			WithFix("Take the name out of protect.processes in /etc/sentinel/config.yaml, or add --force on the command line.")
	}
	if err := p.refuseServer(); err != nil {
		return err
	}
	if why := p.facts.watches(); why != "" {
		return p.protectedAs(why).WithFix(p.instead())
	}
	if err := p.refuseDuty(ctx); err != nil {
		return err
	}
	return p.refuseSession(ctx)
}

// refuseSession refuses what this machine and the sessions of people depend on. Sessions of others
// may be ended by whoever asks for that; the caller's own, and what may be it, may not.
func (p *Termination) refuseSession(ctx context.Context) error {
	model, err := p.source.Sessions(ctx)
	if err != nil {
		return unavailable(ctx, "What carries the sessions of this machine cannot be read, and must not be ended", err)
	}
	if why := p.critical(ctx, Ending{Carries: model.Carries(p.target.PID)}); why != "" {
		return p.protectedAs(why).WithFix(p.instead())
	}
	if claim, known := model.Processes[p.target.PID]; known {
		if err := p.refuseClaim(claim); err != nil {
			return err
		}
	}
	return cmp.Or(p.refuseBelow(ctx, model), p.refuseHidden(model))
}

// refuseClaim refuses what ends sessions, and keeps those that are to end.
func (p *Termination) refuseClaim(claim sessions.Claim) error {
	switch {
	case claim.Listens && !claim.Untrusted:
		return p.protectedAs(claim.Carrying()).Protecting(claim.Data()).WithFix(p.instead())
	case claim.EndsOwn():
		return p.protectedAs(claim.Carrying()).Protecting(claim.Data()).
			WithFix("End it from another session, or add --force on the command line.")
	case !p.target.EndSession:
		return p.protectedAs(claim.Carrying()).Protecting(claim.Data()).
			WithFix(fmt.Sprintf("Leave it running; or, if that session is to end: sudo sentinel --kill %d --end-session", p.target.PID)).
			WithToolFix("Ask the person whether that session is to end. If so, call terminate_process again with end_session true, which the administrator may have to allow (policy.end_sessions).")
	}
	if p.carries != nil {
		claim = p.carries.With(claim)
	}
	p.carries = &claim
	return nil
}

// refuseHidden refuses what may carry the caller's own session, for all that was read. A person's process may end:
// whoever hides what they have open must not protect it by that.
func (p *Termination) refuseHidden(model *sessions.Model) error {
	why := model.Hides(p.facts.UserID, p.facts.Nested)
	if why == "" || person(p.facts.UserID) {
		return nil
	}
	return fault.New(fault.Unavailable, p.who()+" must not be ended, since it may carry this call's own session: "+why+".").
		WithFix("End what has so many files open, if it is a person's or of the account that is named; or add --force on the command line.")
}

// refuseService refuses what the end of a service of the system would do to others.
func (p *Termination) refuseService(ctx context.Context) (err error) {
	u := p.facts.Unit
	if p.target.Service == nil || u.User || !u.Service {
		return nil
	}
	p.sideEffects, err = p.target.Service(ctx, cmp.Or(u.RestartName, u.Name), p.target.PID, p.carries != nil, p.protectedBy)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// protectedBy is the refusal for what the end of the service does.
func (p *Termination) protectedBy(why string, lifts bool) *fault.Error {
	fix := "Leave it running; nothing lifts this protection."
	if lifts {
		fix = "Leave it running, or at a console of the machine add --force on the command line to end it all the same."
	}
	return p.protectedAs(why).WithFix(fix)
}

func (p *Termination) protectedAs(why string) *fault.Error {
	return fault.New(fault.ProtectedProcess, p.who()+" must not be ended: "+why+".")
}

// ancestorReason says how the ancestor at this index of the lineage is related to
// this run.
func ancestorReason(at int) string {
	if at == 0 {
		return "it is the parent of this sentinel run, and ending it ends the call"
	}
	return fmt.Sprintf("it is an ancestor of this sentinel run, %d levels up, and ending it ends the call or its session", at+1)
}

// instead says what to do about a critical process.
func (p *Termination) instead() string {
	const force = "add --force on the command line to end it all the same."
	if u := p.facts.Unit; !u.User && u.Service {
		return "Restart its service, if sentinel lets you: sudo sentinel --restart-service " + u.RestartName + "; or " + force
	}
	return "Leave it running, or " + force
}

// refuseServer refuses the server of a file system that root has mounted: whoever uses it would get
// errors, or wait. What a user has mounted is theirs, and its mount points are told.
func (p *Termination) refuseServer() error {
	point := p.facts.mountOfRoot()
	if point == "" {
		return nil
	}
	return p.protectedAs(whyServes + point).WithFix("Unmount " + point + " first; or add --force on the command line to end it all the same.")
}

const whyServes = "it serves the file system mounted at "

// mountOfRoot quotes the mount point of a file system of root's that the process serves; empty for none.
func (f Facts) mountOfRoot() string {
	at := slices.IndexFunc(f.Served, func(s Served) bool { return s.System })
	if at < 0 {
		return ""
	}
	return sanitize.Quoted(f.Served[at].Point, maxPoint)
}

// watches says which watchdog the process keeps; empty for none.
func (f Facts) watches() string {
	if f.Watchdog == "" {
		return ""
	}
	return "it holds " + sanitize.Quoted(f.Watchdog, maxPoint) + ", a watchdog that resets the machine when nobody writes to it any more"
}

// Bounds of the mount points that are told.
const (
	maxPoints = 10
	maxPoint  = 100 // runes of one
)

// points lists where the file systems are mounted that the process serves.
func (p *Termination) points() []string {
	var list []string
	for _, s := range p.facts.Served[:min(len(p.facts.Served), maxPoints)] {
		list = append(list, sanitize.Text(s.Point, maxPoint))
	}
	return list
}
