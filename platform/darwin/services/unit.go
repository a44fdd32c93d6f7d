// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/platform/darwin/launchctl"
)

// The signals that end a job that launchd or the system does not need any more:
// they say nothing about it (signal(3)).
const (
	sigkill = 9
	sigterm = 15
)

func list(targets []string, word string) string { return strings.Join(targets, word) }

// targets returns the domains in which a job of that name may be, that of the system first.
func (m *manager) targets(name string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	found := []string{"system/" + name}
	if m.User > 0 {
		uid := strconv.Itoa(m.User)
		found = append(found, "gui/"+uid+"/"+name, "user/"+uid+"/"+name)
	}
	return found
}

// Unit implements [services.Manager]. Once a restart has been asked for, it tells
// of the job since then.
func (m *manager) Unit(ctx context.Context, name string) (services.Unit, error) {
	target, job, err := m.find(ctx, name)
	switch {
	case errors.Is(err, services.ErrNoUnit):
		return m.absent(ctx, name)
	case errors.Is(err, services.ErrDenied):
		return services.Unit{}, fault.Wrap(fault.PermissionDenied, "Looking at "+name+" needs root", err).WithFix("Run: sudo sentinel --restart-service " + name)
	case err != nil:
		return services.Unit{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = job
	before := m.before
	if m.target != target {
		before = nil
	}
	u := unit(target, job, before)
	u.Foreign = m.foreign(target)
	return u, nil
}

// foreign tells the jobs of other people from those of the system and of who asks.
// Root who asks for itself may mean anybody's.
func (m *manager) foreign(target string) bool {
	parts := strings.Split(target, "/")
	return len(parts) == 3 && m.User != 0 && parts[1] != strconv.Itoa(m.User)
}

// find asks each domain. The domain of a user and that of their desktop are looked
// up together by some versions of macOS: the same job in both is one.
func (m *manager) find(ctx context.Context, name string) (string, launchctl.Job, error) {
	var targets []string
	var first launchctl.Job
	missing := error(services.ErrNoUnit)
	for _, target := range m.targets(name) {
		job, err := m.ctl.Print(ctx, target)
		if err = known(err, m.EUID == 0); errors.Is(err, services.ErrNoUnit) {
			continue
		}
		if err != nil {
			return "", launchctl.Job{}, err
		}
		if len(targets) == 0 {
			first = job
		} else if job.File == first.File && job.PID == first.PID {
			continue
		}
		targets = append(targets, target)
	}
	switch len(targets) {
	case 0:
		return "", launchctl.Job{}, missing
	case 1:
		return targets[0], first, nil
	}
	return "", launchctl.Job{}, ambiguous(name, targets)
}

// unit describes a job to the domain.
func unit(target string, j launchctl.Job, before *launchctl.Job) services.Unit {
	u := services.Unit{
		Name: target, Names: []string{target}, Service: true, Sub: j.State, Type: "simple", Result: "success",
		MainPID: j.PID, LogHint: logHint(target, j.LogFile), Commands: commands(j),
	}
	u.File, u.Runs, u.Reason, u.RestartedBy = j.File, j.Runs, j.Reason, restartedBy(j)
	u.ComesBack = j.KeepAlive || len(j.Semaphores) > 0
	u.MayRestart = u.ComesBack
	then := predict(j)
	u.BackAfterKill, u.BackAfterTerm = then.OnKill == processes.ComesBack, then.OnTerm == processes.ComesBack
	kept := u.ComesBack
	if !kept && !j.RunAtLoad {
		u.Dormant = dormant(target, j.State)
	}
	if off := before != nil && before.PID == 0 || before == nil && j.PID == 0; off && !kept {
		u.Type = "oneshot"
	}
	if before != nil && !again(j, *before) {
		u.Active = "deactivating"
		if j.PID == 0 {
			u.Active = "activating"
		}
		return u
	}
	ended(&u, j)
	u.Active, u.Waits = active(j, before != nil)
	if before != nil && j.HasRuns {
		u.Restarts = max(0, j.Runs-before.Runs-1)
	}
	return u
}

// again reports whether a job has been started since.
func again(now, before launchctl.Job) bool {
	if now.HasRuns && before.HasRuns {
		return now.Runs > before.Runs
	}
	return now.PID != 0 && now.PID != before.PID
}

// active reads the state of a job. restarted says that its last end is that of the
// process that was started since.
func active(j launchctl.Job, restarted bool) (state string, waits bool) {
	ended := j.Signal != 0 || j.Exited
	bad := j.Signal != 0 && (restarted || j.Signal != sigkill && j.Signal != sigterm) || j.Signal == 0 && j.Exited && j.Exit != 0
	switch {
	case j.PID != 0 && j.State == "xpcproxy": // not yet the program itself
		return "activating", false
	case j.PID != 0:
		return "active", false
	case j.State == "running":
		return "activating", false
	case j.State == "spawn scheduled":
		return "activating", ended && (restarted || bad)
	case bad:
		return "failed", false
	}
	return "inactive", false
}

// ended describes how the last process of a job ended. A signal takes precedence over the status,
// which is then that of an earlier process.
func ended(u *services.Unit, j launchctl.Job) {
	switch {
	case j.Signal != 0:
		u.Result, u.ExitCode, u.ExitStatus = "signal", 2, j.Signal
	case j.Exited:
		u.ExitCode, u.ExitStatus = 1, j.Exit
		if j.Exit != 0 {
			u.Result = "exit-code"
		}
	}
	if j.PID != 0 {
		u.Result = "success"
	}
}

// commands are the program, which need not be the first argument, and the rest.
func commands(j launchctl.Job) [][]string {
	program := j.Program
	if program == "" && len(j.Arguments) > 0 {
		program = j.Arguments[0]
	}
	if program == "" {
		return nil
	}
	return [][]string{append([]string{program}, j.Arguments[min(1, len(j.Arguments)):]...)}
}

// absent describes a job that is not loaded: disabled, only installed, or not
// there at all.
func (m *manager) absent(ctx context.Context, name string) (services.Unit, error) {
	label := name[strings.LastIndexByte(name, '/')+1:]
	for _, target := range m.targets(name) {
		domain := strings.TrimSuffix(target, "/"+label)
		file := m.file(domain, label)
		u := services.Unit{Name: target, Names: []string{target}, Service: true, Active: "inactive", Sub: services.NotLoaded}
		off, err := m.ctl.Disabled(ctx, domain)
		switch {
		case err == nil && off[label]:
			u.Sub, u.Unusable = services.SwitchedOff, disabled(target, file)
			return u, nil
		case file != "":
			u.Unusable = unloaded(target, file)
			return u, nil
		}
	}
	return services.Unit{Name: name, Missing: true, Active: "inactive"}, ctx.Err()
}

// dirs are where the jobs of a domain are installed (launchd.plist(5)). Those of
// macOS itself are left out: many of them are meant to stay off.
func (m *manager) dirs(domain string) []string {
	if domain == "system" {
		return []string{"Library/LaunchDaemons"}
	}
	return []string{"Library/LaunchAgents"}
}

// file is the property list that a job is installed by, "" when there is none.
// By convention it is named after the label.
func (m *manager) file(domain, label string) string {
	for _, dir := range m.dirs(domain) {
		found, err := filepath.Glob(filepath.Join(m.Root, dir, "*.plist"))
		if err != nil {
			continue
		}
		for _, path := range found {
			if filepath.Base(path) == label+".plist" {
				return "/" + dir + "/" + label + ".plist"
			}
		}
	}
	return ""
}

// Names implements [services.Manager]: what is loaded, and what is installed.
func (m *manager) Names(ctx context.Context) ([]string, error) {
	entries, err := m.ctl.List(ctx)
	var names []string
	for _, e := range entries {
		names = append(names, e.Label)
	}
	for _, dir := range []string{"Library/LaunchDaemons", "Library/LaunchAgents"} {
		found, _ := filepath.Glob(filepath.Join(m.Root, dir, "*.plist")) //nolint:errcheck // the pattern is a good one
		for _, path := range found {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".plist"))
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	return nil, err
}
