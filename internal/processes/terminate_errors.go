// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

func noProcess(pid int) *fault.Error {
	return &fault.Error{
		Code: fault.ProcessNotFound, Message: fmt.Sprintf("There is no process with the ID %d.", pid), Err: ErrNoProcess,
	}
}

// notPinned says why a process cannot be held.
func notPinned(pid int, err error) error {
	var thread *ThreadError
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrNoProcess):
		return noProcess(pid)
	case errors.As(err, &thread):
		return fault.New(fault.InvalidPID, fmt.Sprintf("%d is the ID of a thread of %s, not of a process.",
			pid, Relative{thread.Process, thread.Name}.who())).
			WithFix(fmt.Sprintf("Send the PID of the process, %d, if all of it is to end; a thread cannot be ended alone.", thread.Process))
	default:
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("Process %d cannot be held while it is checked", pid), err)
	}
}

// notSignalled says why the kernel did not take a signal.
func (p *Termination) notSignalled(err error) error {
	var guarded *GuardedError
	switch {
	case errors.Is(err, ErrNoProcess):
		return noProcess(p.target.PID)
	case errors.As(err, &guarded):
		return p.protectedAs(guarded.Why).
			WithFix("Leave it running; nothing lifts this protection while the system is up.")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "This user may not end "+p.who()+".").
			WithFix(fmt.Sprintf("Run it with sudo: sudo sentinel --kill %d", p.target.PID))
	default:
		return fault.Wrap(fault.Unavailable, p.who()+" cannot be signalled", err)
	}
}

// endedMeanwhile tells a process that ended after it was found from one that
// never was there.
func endedMeanwhile(err error) error {
	if !errors.Is(err, ErrNoProcess) {
		return err
	}
	return &fault.Error{
		Code: fault.ProcessNotFound, Message: "The process ended by itself before it was signalled; nothing was done.",
		Fix: "Nothing needs to be done.", Err: err,
	}
}

// zombie says that a process has ended already.
func (p *Termination) zombie() *fault.Error {
	e := noProcess(p.target.PID)
	e.Message, e.Fix = p.who()+" has ended already and is a zombie.", "Nothing is left to end; its entry goes when its parent collects it or ends."
	if parent := p.facts.Parent; parent.PID != 0 {
		e.Message = p.who() + " has ended already and is a zombie: its parent " + parent.who() + " has not collected it."
		e.Fix = "Nothing is left to end; its entry goes when " + parent.who() + " collects it or ends."
	}
	return e
}

// stillRunning says why SIGKILL has not ended the process yet.
func (p *Termination) stillRunning() *fault.Error {
	o := p.pinned.Obstacle()
	message := fmt.Sprintf("%s was sent SIGKILL and is still there %v later", p.who(), killPeriod)
	switch {
	case o.Uninterruptible:
		message += ": it waits in the kernel and cannot be interrupted (state " + cmp.Or(o.State, "D")
		if o.Wait != "" {
			message += ", in " + sanitize.Text(o.Wait, maxName)
		}
		return fault.New(fault.StillRunning, message+").").
			WithFix("It ends as soon as that wait does. Look for storage or a network mount that does not answer; otherwise a reboot ends it.")
	case o.Tracer.PID != 0:
		return fault.New(fault.StillRunning, message+": it is being traced by "+o.Tracer.who()+".").
			WithFix("End " + o.Tracer.who() + ", which holds on to it.")
	default:
		return fault.New(fault.StillRunning, message+", though it does not wait for anything that cannot be interrupted.").
			WithFix("It may still be giving back its memory; look again in a moment with: sentinel --top")
	}
}

// unavailable reports err about what could not be read, and an end of ctx as
// what it is.
func unavailable(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Wrap(fault.Unavailable, what, err)
}
