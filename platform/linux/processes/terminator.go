// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/pidfd"
	"sentinel/platform/linux/procfs"
	linuxsessions "sentinel/platform/linux/sessions"
	"sentinel/platform/linux/systemd"
)

// A Terminator pins and signals processes of the running system.
type Terminator struct {
	*Source
	root     string
	sessions *linuxsessions.Reader
	ways     waysOut
	near     neighbourhood
	duties   dutyTable
}

var _ processes.TerminationSource = (*Terminator)(nil)

// NewTerminator returns the Terminator for root. Only "/" has processes that can
// be held.
func NewTerminator(root string) *Terminator {
	return &Terminator{Source: New(root), root: root, sessions: linuxsessions.New(root)}
}

var (
	errNotLive       = errors.New("it is not a process of the running system")
	errForeignProc   = errors.New("the /proc that is mounted here shows the processes of another PID namespace")
	errMoved         = errors.New("they change while they are read")
	errTooManyLevels = errors.New("there are too many of them")
)

// Pin implements [processes.TerminationSource].
func (t *Terminator) Pin(pid int) (processes.Pinned, error) {
	if t.root != "/" {
		return nil, errNotLive
	}
	if here, err := t.proc.Self(); err != nil {
		return nil, err
	} else if here != os.Getpid() {
		return nil, errForeignProc
	}
	fd, err := pidfd.Open(pid)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, processes.ErrNoProcess
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL):
		return nil, t.notProcess(pid, err)
	case errors.Is(err, errors.ErrUnsupported):
		return nil, noPidfd(pid, err)
	case err != nil:
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	return &held{t, pid, fd}, nil
}

func noPidfd(pid int, err error) error {
	return fault.Wrap(fault.Unsupported, fmt.Sprintf("This system cannot hold process %d while it is checked", pid), err).
		WithFix("Use Linux 5.3 or later, whose pidfd makes sure that no other process is hit.")
}

// notProcess explains why an ID is not that of a process.
func (t *Terminator) notProcess(id int, cause error) error {
	status, err := t.proc.Status(id)
	switch {
	case missing(err):
		return processes.ErrNoProcess
	case err != nil:
		return err
	case status.TGID == id:
		return fmt.Errorf("pidfd_open: %w", cause)
	}
	return &processes.ThreadError{Process: status.TGID, Name: t.relative(status.TGID).Name}
}

// missing reports whether an error means that the process is gone: its files no longer exist or
// cannot be read (proc(5)).
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// relative describes another process; its name is empty if it has ended or cannot be read.
func (t *Terminator) relative(pid int) processes.Relative {
	r := processes.Relative{PID: pid}
	if stat, err := t.proc.Process(pid); err == nil {
		r.Name = stat.Name
	}
	return r
}

// RestartPolicy implements [processes.TerminationSource].
func (t *Terminator) RestartPolicy(ctx context.Context, unit string) (processes.RestartPolicy, error) {
	return systemd.RestartPolicy(ctx, t.root, unit)
}

// Sessions implements [processes.TerminationSource].
func (t *Terminator) Sessions(ctx context.Context) (*sessions.Model, error) {
	return t.sessions.Model(ctx)
}

const (
	maxLevels     = 4096 // of ancestors
	lineageRounds = 5
)

// Lineage implements [processes.TerminationSource]. If an ancestor ends meanwhile, its children get
// another parent, so the walk is repeated.
func (t *Terminator) Lineage(ctx context.Context) (list []processes.Relative, err error) {
	for range lineageRounds {
		list, err = t.lineage(ctx)
		if !missing(err) && !errors.Is(err, errMoved) {
			break
		}
	}
	return list, err
}

// lineage walks up to the process without a parent in this PID namespace.
func (t *Terminator) lineage(ctx context.Context) ([]processes.Relative, error) {
	child, err := t.proc.Process(os.Getpid())
	if err != nil {
		return nil, err
	}
	var list []processes.Relative
	for child.ParentPID != 0 {
		if len(list) == maxLevels {
			return nil, errTooManyLevels
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		parent, err := t.proc.Process(child.ParentPID)
		if err != nil {
			return nil, err
		}
		if !older(parent, child) {
			return nil, errMoved
		}
		list = append(list, processes.Relative{PID: parent.PID, Name: parent.Name})
		child = parent
	}
	return list, nil
}

// older distinguishes a parent from a later process with its PID.
func older(parent, child procfs.ProcessStat) bool { return parent.Start <= child.Start }
