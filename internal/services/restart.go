// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/progress"
)

const (
	sampleEvery = 250 * time.Millisecond
	lookLimit   = time.Second // for the state of a service that has not settled
	logLimit    = 3 * time.Second
	logLines    = 10
	logRunes    = 300
	// logDelay lets the journal catch up with what a service wrote last.
	logDelay = 200 * time.Millisecond
	// loopAfter is how long a service that died more than once may take to stay up.
	loopAfter = 2500 * time.Millisecond
	// enough is how long a service must have stayed up where there is no time left to watch it.
	enough = 2500 * time.Millisecond
)

// Do restarts the service and waits until it has settled: until its job is done
// and it has stayed up for a while. It fails with RESTART_FAILED, PERMISSION_DENIED,
// UNAVAILABLE, or TIMEOUT when it has not settled within the limit and goes on without
// being watched. When ctx ends before the job is queued nothing is changed; afterwards
// the manager goes on by itself, and Do returns at once. What is known of the state is
// returned with every error.
func (r *Restart) Do(ctx context.Context) (Restarted, error) {
	if err := ctx.Err(); err != nil {
		return Restarted{}, err
	}
	began := time.Now()
	done := Restarted{Label: r.unit.Name, RequestedName: r.asked, State: r.kind.state(r.unit, 0), RestartsBefore: r.unit.Restarts, Also: r.others.Also}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	progress.Say(ctx, 25, "restarting "+shown(r.unit.Name))
	job, err := r.manager.Restart(limited, r.unit.Name, slices.Concat(r.others.restarts, r.others.starts))
	if err != nil {
		done.Pending = limited.Err() != nil || errors.Is(err, context.DeadlineExceeded)
		return done, r.rejected(err)
	}
	w, err := r.watch(limited, job)
	done.State, done.TookMS = r.kind.state(w.last, w.deaths), time.Since(began).Milliseconds()
	if ctx.Err() == nil {
		r.lookAgain(ctx, &done)
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		done.Pending = true
		return done, ctx.Err()
	case err == nil || w.stayed(err, time.Now()):
		done.Message = r.message(w) + r.withIt(done.AlsoOff) + r.before() + r.tested + r.unit.Stale
		return done, nil
	case errors.Is(err, context.DeadlineExceeded):
		done.Pending = true
		err = r.unsettled(w.last, time.Since(began))
	}
	done.Pending = done.Pending || errors.Is(err, errUnwatched)
	done.Message = err.Error() + r.withIt(done.AlsoOff) + unreadSentence(done.Unread) + r.before()
	done.Log = r.log(ctx, began)
	return done, err
}

// errUnwatched says that the manager stopped answering after it had taken the
// job.
var errUnwatched = errors.New("the restart could not be watched")

// watch waits for the job and then for the service. What it saw last is
// returned with every error.
func (r *Restart) watch(ctx context.Context, job <-chan string) (*watch, error) {
	w := &watch{before: r.unit, last: r.unit}
	var result string
	select {
	case result = <-job:
	case <-ctx.Done():
		return w, r.lastLook(ctx, w)
	}
	progress.Say(ctx, 60, "started; seeing whether it stays up")
	for ticker := time.NewTicker(sampleEvery); ; {
		u, err := r.manager.Unit(ctx, r.unit.Name)
		if ctx.Err() != nil {
			ticker.Stop()
			return w, ctx.Err()
		}
		if err != nil {
			ticker.Stop()
			return w, fault.Wrap(fault.Unavailable, r.kind.Name+" took the restart of "+r.unit.Name+" and does not answer since", fmt.Errorf("%w: %w", errUnwatched, err))
		}
		w.see(u, time.Now())
		if settled, err := r.judge(ctx, w, result, time.Now()); settled || err != nil {
			ticker.Stop()
			return w, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// lastLook reads the state of a service whose job did not end in time.
func (r *Restart) lastLook(ctx context.Context, w *watch) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	if u, err := r.manager.Unit(look, r.unit.Name); err == nil {
		w.see(u, time.Now())
	}
	return ctx.Err()
}

// rejected says why the manager did not queue the restart.
func (r *Restart) rejected(err error) error {
	name := r.unit.Name
	var guarded *GuardedError
	switch {
	case errors.Is(err, ErrDenied):
		return fault.New(fault.PermissionDenied, "Restarting "+name+" needs root.").WithFix("Run: sudo sentinel --restart-service " + name)
	case errors.Is(err, ErrNoUnit):
		return fault.New(fault.ServiceNotFound, name+" "+r.kind.Vanished+"; nothing was changed.").
			WithFix("List the services with: " + r.kind.Commands.Loaded)
	case errors.As(err, &guarded):
		return Refusal(name, guarded.Why, false)
	case errors.Is(err, ErrMasked):
		return fault.New(fault.ServiceMasked, name+" has been masked; nothing was changed.")
	case errors.Is(err, ErrNoManual):
		return Refusal(name, "its unit file does not let it be started or stopped by hand", false)
	case errors.Is(err, ErrBusy):
		return fault.New(fault.RestartFailed, name+" cannot be restarted now: "+r.kind.Name+" has queued what that would undo, such as a shutdown. Nothing was changed.").
			WithFix("See what is queued with: " + r.kind.Commands.Queue)
	case errors.Is(err, ErrRejected):
		return fault.Wrap(fault.RestartFailed, r.kind.Name+" does not restart "+name, err).WithFix("Find what is wrong with: " + r.kind.Commands.Verify + " " + name)
	}
	return unavailable(r.kind, err)
}

func (r *Restart) unsettled(u Unit, after time.Duration) error {
	return fault.New(fault.Timeout, fmt.Sprintf("%s has not settled within %.0f s: it is %s (%s). %s goes on by itself.", r.unit.Name, after.Seconds(), shown(u.Active), shown(u.Sub), r.kind.Name)).
		WithFix("Look again in a minute with: " + r.Look())
}

// message describes a service that has settled.
func (r *Restart) message(w *watch) string {
	u := w.last
	switch {
	case u.Active == "inactive":
		return u.Name + " was run again and ended with success."
	case u.Sub == "exited":
		return u.Name + " was restarted; its work is done, and it counts as active."
	case u.MainPID == 0:
		return fmt.Sprintf("%s was restarted and is %s (%s).", u.Name, shown(u.Active), shown(u.Sub))
	case w.deaths > 0:
		return fmt.Sprintf("%s was restarted and is %s (%s), main PID %d. It died at first: %s has started it again since (%d×).", u.Name, shown(u.Active), shown(u.Sub), u.MainPID, r.kind.Name, w.deaths)
	}
	return fmt.Sprintf("%s was restarted and is %s (%s), main PID %d.", u.Name, shown(u.Active), shown(u.Sub), u.MainPID)
}

// withIt says what else the restart was for, and which of that is not on after it.
func (r *Restart) withIt(off []string) string {
	return r.others.Sentence("It") + offSentence(off) + r.unit.Hosted
}

// before says how often the manager had started the service again by itself.
func (r *Restart) before() string {
	switch n := r.unit.Restarts; n {
	case 0:
		return ""
	case 1:
		return " Before, " + r.kind.Name + " had started it again once by itself."
	default:
		return fmt.Sprintf(" Before, %s had started it again %d times by itself.", r.kind.Name, n)
	}
}

// log reads the last lines of the service. A failure to read them must not fail
// the answer, so that they are left out then.
func (r *Restart) log(ctx context.Context, since time.Time) []string {
	ctx, cancel := context.WithTimeout(ctx, logLimit)
	defer cancel()
	pause(ctx, logDelay)
	lines, err := r.manager.Log(ctx, r.unit, since, logLines)
	if err != nil {
		return nil
	}
	var texts []string
	for _, line := range shownLines(lines, logLines, logRunes) {
		texts = append(texts, line.Text)
	}
	return texts
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
