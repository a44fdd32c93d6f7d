// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"sentinel/internal/processes"
	"sentinel/internal/sessions"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/ps"
	jobs "sentinel/platform/darwin/services"
	macsessions "sentinel/platform/darwin/sessions"
)

// A Mac holds what a [Terminator] needs from the machine.
type Mac struct {
	Root   string // below which files are looked at; "/" on a real Mac
	Runner sysexec.Runner
	// Kill sends a signal to a process (kill(2)); signal 0 only checks.
	Kill func(pid int, signal syscall.Signal) error
	EUID int // effective user of this run
	PID  int // of this run
}

// A Terminator holds and signals processes of macOS. That has no handles for
// processes: one is held by its PID and the second in which it began, which are looked at again
// right before each signal. What a process could do in the millisecond between the two is end,
// be collected, and have its PID given to another one that began in the same second, after
// all other PIDs have been given out.
type Terminator struct{ mac Mac }

var _ processes.TerminationSource = (*Terminator)(nil)

// NewTerminator returns the Terminator of a Mac. It runs nothing.
func NewTerminator(m Mac) *Terminator { return &Terminator{m} }

const (
	// lookLimit bounds one look at processes.
	lookLimit = 3 * time.Second
	// maxLevels bounds the number of ancestors.
	maxLevels = 4096
)

var (
	errNoStart  = errors.New("ps does not say when it began")
	errNotFound = errors.New("this run is not among the processes that ps lists")
	errLevels   = errors.New("they go round in a circle")
)

// Pin implements [processes.TerminationSource].
func (t *Terminator) Pin(pid int) (processes.Pinned, error) {
	p, err := t.look(context.Background(), pid)
	if err != nil {
		return nil, err
	}
	if p.StartID() == "" {
		return nil, errNoStart
	}
	return &held{from: t, pid: pid, start: p.StartID()}, nil
}

// look reads one process.
func (t *Terminator) look(ctx context.Context, pid int) (ps.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	found, err := ps.Lookup(ctx, t.mac.Runner, pid)
	switch {
	case err != nil:
		return ps.Process{}, fmt.Errorf("look at process %d: %w", pid, err)
	case len(found) == 0:
		return ps.Process{}, processes.ErrNoProcess
	}
	return found[0], nil
}

// RestartPolicy implements [processes.TerminationSource].
func (t *Terminator) RestartPolicy(ctx context.Context, unit string) (processes.RestartPolicy, error) {
	return jobs.RestartPolicy(ctx, t.mac.Runner, unit)
}

// Sessions implements [processes.TerminationSource]. Only root sees the sockets of others, and may end
// their processes.
func (t *Terminator) Sessions(ctx context.Context) (*sessions.Model, error) {
	if t.mac.EUID != 0 {
		return &sessions.Model{}, nil
	}
	return macsessions.New(t.mac.Runner, t.mac.EUID, t.mac.PID).Model(ctx)
}

// Lineage implements [processes.TerminationSource]. One listing has all of them.
func (t *Terminator) Lineage(ctx context.Context) ([]processes.Relative, error) {
	table, err := ps.Table(ctx, t.mac.Runner)
	if err != nil {
		return nil, err
	}
	byPID := make(map[int]ps.Process, len(table))
	for _, p := range table {
		byPID[p.PID] = p
	}
	return lineage(byPID, t.mac.PID)
}

// Below implements [processes.TerminationSource].
func (t *Terminator) Below(ctx context.Context, pid int) ([]processes.Relative, error) {
	table, err := ps.Table(ctx, t.mac.Runner)
	if err != nil {
		return nil, err
	}
	parents := make(map[int]int, len(table))
	for _, p := range table {
		parents[p.PID] = p.PPID
	}
	family := processes.Family(parents, pid)
	var list []processes.Relative
	for _, p := range table {
		if p.PID != pid && family[p.PID] {
			list = append(list, processes.Relative{PID: p.PID, Name: p.Name()})
		}
	}
	return list, nil
}

// Holdings implements [processes.TerminationSource]; nothing is known here to hang on open files.
func (t *Terminator) Holdings(context.Context, map[int]*processes.Facts, []int, bool) {}

// lineage walks up to launchd, whose parent is the kernel.
func lineage(byPID map[int]ps.Process, pid int) ([]processes.Relative, error) {
	child, found := byPID[pid]
	if !found {
		return nil, errNotFound
	}
	var list []processes.Relative
	for child.PPID > 0 {
		parent, found := byPID[child.PPID]
		if !found {
			return nil, fmt.Errorf("process %d, which is one of them, is not listed", child.PPID)
		}
		if len(list) == maxLevels {
			return nil, errLevels
		}
		list = append(list, processes.Relative{PID: parent.PID, Name: parent.Name()})
		child = parent
	}
	return list, nil
}
