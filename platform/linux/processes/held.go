// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/platform/linux/pidfd"
	"sentinel/platform/linux/procfs"
)

// kernelThread is PF_KTHREAD (include/linux/sched.h).
const kernelThread = 0x00200000

// held is a process with an open pidfd. Its files in /proc are found by its PID. What was read from
// them belongs to it if it has not been collected by then, since no other process can have had its
// PID until then.
type held struct {
	from *Terminator
	pid  int
	fd   pidfd.FD
}

var _ processes.Pinned = (*held)(nil)

// Facts implements [processes.Pinned].
func (h *held) Facts(ctx context.Context) (processes.Facts, error) {
	f, err := h.from.facts(ctx, h.pid)
	if gone := h.Probe(); errors.Is(gone, processes.ErrNoProcess) {
		return processes.Facts{}, gone
	}
	if err != nil {
		return processes.Facts{}, err
	}
	f.Ended, err = h.fd.Wait(0)
	return f, err
}

// facts reads the facts about the process with the PID. It fails only if a fact that the refusals
// need is missing.
func (t *Terminator) facts(ctx context.Context, pid int) (processes.Facts, error) {
	stat, err := t.proc.ProcessInTime(pid)
	if errors.Is(err, procfs.ErrStuck) {
		err = fmt.Errorf("%w: %w", processes.ErrHeldUp, err)
	}
	if err != nil {
		return processes.Facts{}, err
	}
	status, err := t.proc.Status(pid)
	if err != nil {
		return processes.Facts{}, err
	}
	names, _ := t.names() //nolint:errcheck // a user without a name is shown as a number
	f := processes.Facts{
		Name: stat.Name, Start: t.start(stat), Kernel: stat.Flags&kernelThread != 0, Nested: status.Nested, First: status.First,
		UserID: status.UID, User: names.Name(status.UID),
	}
	if stat.ParentPID != 0 {
		f.Parent = t.relative(stat.ParentPID)
	}
	t.more(pid, &f)
	return f, ctx.Err()
}

// more adds facts that a process can hide, or loses when it ends.
func (t *Terminator) more(pid int, f *processes.Facts) {
	if arguments, err := t.proc.CommandLine(pid); err == nil {
		f.Arguments = arguments
	}
	if path, err := t.proc.Executable(pid); err == nil {
		f.Executable = path
	}
	f.Lent = t.proc.Lends(pid)
	if group, err := t.proc.ControlGroup(pid); err == nil {
		f.Unit = unitOf(group)
	}
}

// Probe implements [processes.Pinned].
func (h *held) Probe() error { return h.signal(0) }

// Signal implements [processes.Pinned].
func (h *held) Signal(s processes.Signal) error {
	if s == processes.SignalTerm {
		return h.signal(unix.SIGTERM)
	}
	return h.signal(unix.SIGKILL)
}

func (h *held) signal(s unix.Signal) error {
	err := h.fd.Signal(s)
	if errors.Is(err, unix.ESRCH) {
		return processes.ErrNoProcess
	}
	return err
}

// Wait implements [processes.Pinned].
func (h *held) Wait(limit time.Duration) (bool, error) { return h.fd.Wait(limit) }

// Collected implements [processes.Pinned].
func (h *held) Collected(limit time.Duration) bool { return h.fd.Collected(limit) }

// ProgramFile implements [processes.Pinned].
func (h *held) ProgramFile() (processes.ProgramFile, error) {
	p, err := h.from.proc.Program(h.pid, 0)
	return processes.ProgramFile{System: p.System && err == nil, Lent: p.Lent}, err
}

// Close implements [processes.Pinned].
func (h *held) Close() error { return h.fd.Close() }

// Obstacle implements [processes.Pinned].
func (h *held) Obstacle() processes.Obstacle {
	var o processes.Obstacle
	threads, _ := h.from.proc.Threads(h.pid) //nolint:errcheck // an unknown obstacle is not named
	for _, t := range threads {
		if t.State == 'D' {
			o.Uninterruptible = true
			o.Wait, _ = h.from.proc.WaitChannel(h.pid, t.PID) //nolint:errcheck // needs root
			break
		}
	}
	o.Tracer = h.tracer(threads)
	return o
}

// maxTraced bounds how many threads are asked for their debuggers: each takes what the user of the process
// likes ([procfs.FS.UID]).
const maxTraced = 64

// tracer returns the debugger of one of the threads, which may stop the whole process (ptrace(2)). Those that
// one has stopped are asked first.
func (h *held) tracer(threads []procfs.ProcessStat) processes.Relative {
	slices.SortStableFunc(threads, func(a, b procfs.ProcessStat) int { return stopped(a) - stopped(b) })
	for _, t := range threads[:min(len(threads), maxTraced)] {
		if status, err := h.from.proc.Status(t.PID); err == nil && status.TracerPID != 0 {
			return h.from.relative(status.TracerPID)
		}
	}
	return processes.Relative{}
}

// stopped orders threads that a debugger has stopped before all others (State of proc_pid_status(5)).
func stopped(t procfs.ProcessStat) int {
	if t.State == 't' {
		return 0
	}
	return 1
}
