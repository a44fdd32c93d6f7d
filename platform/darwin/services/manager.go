// SPDX-License-Identifier: Apache-2.0

// Package services restarts jobs through launchd, the service manager of macOS, and predicts what
// happens to a job when its process ends.
package services

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/launchctl"
	"sentinel/platform/darwin/ps"
)

// restartLimit is how long launchctl may wait for a job to end and to be started
// again. The domain gives up waiting before that; launchd goes on by itself.
const restartLimit = 60 * time.Second

// A Services restarts jobs through launchd.
type Services struct {
	Root   string // "/" on a live system
	Runner sysexec.Runner
	EUID   int // effective user of this run
	PID    int // of this run
	User   int // user whose own jobs may be meant, besides those of the system; 0 for none
	Now    func() time.Time
}

var (
	_ services.Source  = Services{}
	_ services.Manager = (*manager)(nil)
)

// InvokingUser returns the user whose jobs may be meant: the one behind sudo, which sets
// SUDO_UID itself, or who runs this. It is 0 for root alone.
func InvokingUser(euid int, getenv func(string) string) int {
	if euid != 0 {
		return euid
	}
	uid, err := strconv.ParseUint(getenv("SUDO_UID"), 10, 31)
	if err != nil {
		return 0
	}
	return int(uid)
}

// Open implements [services.Source]. It runs nothing: launchd always runs.
func (s Services) Open(context.Context) (services.Manager, error) {
	return &manager{Services: s, ctl: launchctl.Client{Runner: s.Runner}}, nil
}

// A manager is launchd, and what it has been asked for.
type manager struct {
	Services
	ctl launchctl.Client

	mu     sync.Mutex
	before *launchctl.Job // the job as it was when its restart was asked for
	target string         // of that job
	last   launchctl.Job  // as it was read last
}

// Close implements [services.Manager].
func (m *manager) Close() {}

// Restart implements [services.Manager]. launchctl returns when the job has been
// started again; until then it is asked in the background, since launchd goes on whether or not
// somebody waits. It delays starts that follow each other closely, and refuses none.
func (m *manager) Restart(ctx context.Context, name string, _ []string) (<-chan string, error) {
	before, err := m.ctl.Print(ctx, name)
	if err != nil {
		return nil, known(err, m.EUID == 0)
	}
	m.mu.Lock()
	m.before, m.target = &before, name
	m.mu.Unlock()
	done, refused := make(chan string, 1), make(chan error, 1)
	go func() {
		if err := m.ctl.Restart(context.WithoutCancel(ctx), name, restartLimit); err != nil {
			refused <- m.refusal(name, err)
			return
		}
		done <- "done"
		close(refused)
	}()
	select {
	case err := <-refused:
		return done, err
	case <-ctx.Done():
		return done, nil
	}
}

// refusal translates the reason why launchd did not restart a job.
func (m *manager) refusal(name string, err error) error {
	var f *launchctl.Failure
	if errors.As(err, &f) && f.Code == launchctl.Disabled {
		return disabled(name, "")
	}
	return known(err, m.EUID == 0)
}

// known translates what launchctl says. Root is refused only what the system
// itself guards.
func known(err error, root bool) error {
	var f *launchctl.Failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.Code {
	case launchctl.NoService, launchctl.NoDomain, launchctl.NoProcess:
		return fmt.Errorf("%w: %w", services.ErrNoUnit, err)
	case launchctl.ProtectedBySIP:
		return &services.GuardedError{Why: "System Integrity Protection lets nobody restart it, root included"}
	case launchctl.NotPermitted:
		if root {
			return &services.GuardedError{Why: "macOS lets nobody restart it, root included; since version 14.4 that goes for most of its own jobs"}
		}
		return fmt.Errorf("%w: %w", services.ErrDenied, err)
	case launchctl.UnsupportedAction, launchctl.InputOutput:
		return fmt.Errorf("%w: %w", services.ErrRejected, err)
	}
	return err
}

// maxAncestors bounds how far up the parents of this process are followed.
const maxAncestors = 64

// Ancestry implements [services.Manager]. macOS has no control groups.
func (m *manager) Ancestry() (services.Ancestry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ancestryLimit)
	defer cancel()
	table, err := ps.Table(ctx, m.Runner)
	if err != nil {
		return services.Ancestry{}, err
	}
	parents := make(map[int]int, len(table))
	for _, p := range table {
		parents[p.PID] = p.PPID
	}
	if _, found := parents[m.PID]; !found {
		return services.Ancestry{}, errNotListed
	}
	var own services.Ancestry
	for pid, found := m.PID, true; found && pid > 1 && len(own.PIDs) < maxAncestors; {
		own.PIDs = append(own.PIDs, pid)
		pid, found = parents[pid]
	}
	return own, nil
}

const ancestryLimit = 5 * time.Second

var errNotListed = errors.New("this process is not among those that ps lists")

// ambiguous refuses a label that exists in several domains.
func ambiguous(label string, targets []string) error {
	return fault.New(fault.InvalidService, label+" is the label of more than one service: "+list(targets, " and ")+".").
		WithFix("Send the one that is meant: " + list(targets, " or "))
}
