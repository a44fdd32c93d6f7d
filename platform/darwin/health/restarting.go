// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/platform/darwin/launchctl"
	"sentinel/platform/darwin/ps"
)

const (
	// fewStarts is from how many starts on a job that runs again is listed: two deaths may be chance.
	fewStarts = 3
	// lately is how long ago the last of them may be.
	lately = time.Hour
	// maxSuspects bounds the jobs that launchd is asked about, each with a run of launchctl.
	maxSuspects = 12
	// ofApple begins the labels of the jobs of macOS. Many of them always end with a status; what it means
	// is not documented, and nobody but Apple can mend it.
	ofApple = "com.apple."
)

// restarting lists the jobs that launchd starts again and again after they have failed: those that wait for
// the next start, and those that run again, were started three times or more, and that within the hour.
// launchd does not tell since when, nor of which starts somebody asked for.
func (s *source) restarting(ctx context.Context) ([]health.RestartingUnit, error) {
	ctl := launchctl.Client{Runner: s.Runner}
	list, err := ctl.List(ctx)
	if err != nil {
		return nil, err
	}
	found, running := []health.RestartingUnit{}, map[int]health.RestartingUnit{}
	for _, e := range suspects(list) {
		job, err := s.job(ctx, ctl, e.Label)
		if err != nil || !failedAtLast(job) {
			continue // it went meanwhile, or is well
		}
		u := health.RestartingUnit{Name: e.Label, Restarts: max(0, job.Runs-1), Waits: job.State == "spawn scheduled"}
		switch {
		case u.Waits:
			found = append(found, u)
		case job.PID != 0 && job.Runs >= fewStarts && (job.KeepAlive || len(job.Semaphores) > 0):
			running[job.PID] = u
		}
	}
	young, err := s.young(ctx, running)
	return append(found, young...), err
}

// suspects are the jobs whose last run ended badly.
func suspects(list []launchctl.Entry) []launchctl.Entry {
	var bad []launchctl.Entry
	for _, e := range list {
		if e.Status != 0 && !stopped(-e.Status) && !strings.HasPrefix(e.Label, ofApple) && len(bad) < maxSuspects {
			bad = append(bad, e)
		}
	}
	return bad
}

// job asks for a job where root's and those of users are.
func (s *source) job(ctx context.Context, ctl launchctl.Client, label string) (launchctl.Job, error) {
	if s.EUID == 0 {
		return ctl.Print(ctx, "system/"+label)
	}
	uid := strconv.Itoa(s.EUID)
	job, err := ctl.Print(ctx, "gui/"+uid+"/"+label)
	if err != nil { // nobody sits at the desktop
		job, err = ctl.Print(ctx, "user/"+uid+"/"+label)
	}
	return job, err
}

// stopped reports a signal that ends a job which launchd or the system does not need any more: SIGKILL and
// SIGTERM say nothing about it (signal(3)).
func stopped(signal int) bool { return signal == 9 || signal == 15 }

func failedAtLast(j launchctl.Job) bool {
	if j.Signal != 0 {
		return !stopped(j.Signal)
	}
	return j.Exited && j.Exit != 0
}

// young returns those whose process began lately: what has run for longer keeps running.
func (s *source) young(ctx context.Context, running map[int]health.RestartingUnit) ([]health.RestartingUnit, error) {
	if len(running) == 0 {
		return nil, nil
	}
	rows, err := ps.Lookup(ctx, s.Runner, slices.Sorted(maps.Keys(running))...)
	if err != nil {
		return nil, err
	}
	var young []health.RestartingUnit
	for _, p := range rows {
		if age := s.Now().Sub(p.Started); !p.Started.IsZero() && age < lately {
			young = append(young, running[p.PID])
		}
	}
	return young, nil
}
