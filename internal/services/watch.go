// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/fault"
)

// A watch follows a service after its restart.
type watch struct {
	before, last Unit
	first        time.Time // when it was first seen
	since        time.Time // when it was first seen as it is now
	base         int       // what the manager had counted before
	deaths       int       // since the restart
	done         bool      // its job has ended as it was to
}

// see takes a sample. The manager counts its own restarts from the last start
// by hand on, except that it goes on counting when it was just waiting to start the
// service again (service_start of src/core/service.c).
func (w *watch) see(u Unit, now time.Time) {
	if w.first.IsZero() {
		w.first = now
		if u.Restarts >= w.before.Restarts {
			w.base = w.before.Restarts
		}
	}
	if u.Active != w.last.Active || u.Sub != w.last.Sub || u.MainPID != w.last.MainPID || u.Restarts != w.last.Restarts || w.since.IsZero() {
		w.since = now
	}
	w.last = u
	w.deaths = max(0, u.Restarts-w.base)
	if waitsToRestart(u) {
		w.deaths++
	}
}

// stayed says that a service is up, without having died, though the time to watch it was over before
// it had settled.
func (w *watch) stayed(err error, now time.Time) bool {
	return errors.Is(err, context.DeadlineExceeded) && w.done && w.deaths == 0 && now.Sub(w.since) >= enough
}

// waitsToRestart says whether a service has died and is to be started again.
func waitsToRestart(u Unit) bool { return u.Waits || strings.HasPrefix(u.Sub, "auto-restart") }

// judge says whether the service has settled, and how. result is that of its
// job.
func (r *Restart) judge(ctx context.Context, w *watch, result string, now time.Time) (settled bool, err error) {
	u := w.last
	switch {
	case result != "done" && result != "failed":
		return true, r.jobFailed(ctx, result)
	case u.Active == "failed":
		return true, r.died(w, result)
	case u.Active == "inactive":
		return true, r.ended(w, result)
	case w.deaths > 1 && now.Sub(w.first) >= loopAfter:
		return true, r.loops(w)
	case w.deaths > 0 && u.Active != "active" && now.Sub(w.first) >= r.grace:
		return true, r.loops(w)
	case u.Active != "active" && u.Active != "reloading" && u.Active != "refreshing":
		return false, nil
	case result == "failed" && w.deaths == 0:
		return true, r.failed("was not restarted: its job failed, and it is "+u.Active+" as before", "")
	}
	w.done = true
	return oneshotIsDone(u) || now.Sub(w.since) >= r.settle, nil
}

// oneshotIsDone says that nothing is left that could die.
func oneshotIsDone(u Unit) bool {
	return u.Type == "oneshot" && u.Active == "active" && u.Sub == "exited" && u.MainPID == 0
}

// jobFailed reports a job that ended before it started the service.
func (r *Restart) jobFailed(ctx context.Context, result string) error {
	switch result {
	case "dependency":
		return r.failed("was not started: what it needs could not be started"+r.failedDependency(ctx), "")
	case "timeout":
		return r.failed("was not restarted: its job ran out of time", "")
	case "canceled":
		return r.failed("was not restarted: its job was cancelled by another one", "See what is queued with: "+r.kind.Commands.Queue)
	case "assert":
		return r.failed("was not started: an assertion of its unit file does not hold", "")
	}
	return r.failed("was not restarted: its job ended with "+shown(result), "")
}

// failedDependency names the units that the service needs and that have failed.
func (r *Restart) failedDependency(ctx context.Context) string {
	var names []string
	for _, name := range r.unit.Needs[:min(len(r.unit.Needs), maxReach)] {
		if u, err := r.manager.Unit(ctx, name); err == nil && u.Active == "failed" {
			names = append(names, shown(u.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names[:min(len(names), 3)], ", ") + ")"
}

// died reports a service that its manager has given up on, by the result of
// org.freedesktop.systemd1(5).
func (r *Restart) died(w *watch, result string) error {
	manager, reset := r.kind.Name, r.startLimitFix()
	switch {
	case w.deaths > 0:
		return r.failed(fmt.Sprintf("died %d times since the restart%s, and %s has given it up (start limit)", w.deaths+1, r.kind.how(w.last), manager), reset)
	case startLimitHit(w, result):
		was := "was not started"
		if on(w.before) {
			was = "was stopped and not started again"
		}
		return r.failed(was+": it was started too often, and "+manager+" does not try again (start limit)", reset)
	}
	switch u := w.last; u.Result {
	case "timeout":
		return r.failed("did not start or stop in time"+r.kind.how(u), "")
	case "watchdog":
		return r.failed("stopped giving signs of life to its watchdog", "")
	case "oom-kill":
		return r.failed("was killed because memory ran out", "Find what uses the memory with: sentinel --top --sort memory")
	case "resources":
		return r.failed("could not be started: "+manager+" could not set up what it needs", "")
	case "protocol":
		return r.failed("did not start as the type in its unit file says", "")
	default:
		if u.Type == "oneshot" {
			return r.failed("was run again and failed"+r.kind.how(u), "")
		}
		return r.failed("died right after the restart"+r.kind.how(u), "")
	}
}

// startLimitHit says whether systemd refused to start the service at all. The
// result tells that only where nothing had gone wrong before, its stop included.
func startLimitHit(w *watch, result string) bool {
	return w.last.Result == "start-limit-hit" || result == "failed" && w.last.Invocation != "" && w.last.Invocation == w.before.Invocation
}

// ended reports a service that is off and has not failed. That is success for one
// that was off before, which does its work and ends, as oneshot services do. systemd forgets
// how a unit ended once nothing refers to it; only the log has that then.
func (r *Restart) ended(w *watch, result string) error {
	switch u := w.last; {
	case u.Unmet:
		return r.failed("was not started: a condition of its unit file is not met", "See which one with: "+r.Look())
	case result != "done":
		return r.failed("was not restarted, and is off", "")
	case u.Type == "oneshot" || w.before.Active == "inactive":
		return nil
	case u.ExitCode != 0:
		return r.failed("ended by itself right after the restart"+r.kind.how(u), "")
	default:
		return r.failed("is off right after the restart: it ended by itself, or a condition of its unit file kept it from starting", "")
	}
}

// loops reports a service that dies again each time its manager starts it.
func (r *Restart) loops(w *watch) error {
	if w.deaths == 1 {
		return r.failed("died right after the restart"+r.kind.how(w.last)+", and "+r.kind.Name+" waits to start it again", "")
	}
	return r.failed(fmt.Sprintf("keeps dying: it was seen to die %d times since the restart%s, and %s starts it again and again", w.deaths, r.kind.how(w.last), r.kind.Name), "")
}

// startLimitFix says how a service that failed too often may be started again.
func (r *Restart) startLimitFix() string {
	if r.kind.Commands.ResetFailed == "" {
		return ""
	}
	return "Repair what its log lines say, then allow new starts with: " + r.kind.Commands.ResetFailed + " " + r.unit.Name
}

// failed returns RESTART_FAILED about the service.
func (r *Restart) failed(what, fix string) error {
	e := fault.New(fault.RestartFailed, r.unit.Name+" "+what+".")
	if fix == "" {
		fix = "Repair what its log lines say, then restart it again. " + r.unit.LogHint
	}
	return e.WithFix(fix)
}
