// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"sentinel/internal/processes"
	"sentinel/platform/darwin/ps"
	jobs "sentinel/platform/darwin/services"
)

const (
	// firstPause and longestPause are the shortest and the longest time between two
	// looks while a process is awaited.
	firstPause   = 10 * time.Millisecond
	longestPause = 160 * time.Millisecond
	// unitLimit is how long launchd may take to say whose job a process is.
	unitLimit = time.Second
)

// held is a process that is held by its PID and its start.
type held struct {
	from  *Terminator
	pid   int
	start string
}

var _ processes.Pinned = (*held)(nil)

// look reads the process, and no other that has its PID.
func (h *held) look(ctx context.Context) (ps.Process, error) {
	p, err := h.from.look(ctx, h.pid)
	if err != nil {
		return p, err
	}
	if p.StartID() != h.start {
		return ps.Process{}, processes.ErrNoProcess
	}
	return p, nil
}

// Facts implements [processes.Pinned].
func (h *held) Facts(ctx context.Context) (processes.Facts, error) {
	p, err := h.look(ctx)
	if err != nil {
		return processes.Facts{}, err
	}
	f := processes.Facts{
		Name: p.Name(), Arguments: []string{p.Comm}, Start: p.StartID(), Ended: p.State == 'Z', Kernel: p.PID == 0,
		UserID: p.UID, User: p.User, Executable: executable(p), Parent: processes.Relative{PID: p.PPID},
	}
	if parent, err := h.from.look(ctx, p.PPID); err == nil {
		f.Parent.Name = parent.Name()
	}
	if p.PPID == 1 && !f.Ended { // launchd is the parent of all its jobs
		f.Unit = h.unit(ctx)
	}
	return f, ctx.Err()
}

// unit asks launchd which job the process belongs to; a failure counts as none.
func (h *held) unit(ctx context.Context) processes.Unit {
	ctx, cancel := context.WithTimeout(ctx, unitLimit)
	defer cancel()
	u, _ := jobs.Of(ctx, h.from.mac.Runner, h.pid, h.from.mac.EUID == 0) //nolint:errcheck // see above
	return u
}

// executable is the path of the program as the process shows it, or, where it has
// given itself a title such as "sshd: ana [priv]", the name before that.
func executable(p ps.Process) string {
	if strings.HasPrefix(p.Comm, "/") {
		return p.Comm
	}
	program, _, _ := strings.Cut(p.Name(), ": ")
	return program
}

// Probe implements [processes.Pinned].
func (h *held) Probe() error { return h.signal(0) }

// Signal implements [processes.Pinned].
func (h *held) Signal(s processes.Signal) error {
	if s == processes.SignalTerm {
		return h.signal(syscall.SIGTERM)
	}
	return h.signal(syscall.SIGKILL)
}

// signal looks at the process and signals it at once. One that has ended and was
// not collected takes signals and does nothing, as everywhere (kill(2)).
func (h *held) signal(s syscall.Signal) error {
	if _, err := h.look(context.Background()); err != nil {
		return err
	}
	err := h.from.mac.Kill(h.pid, s)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return processes.ErrNoProcess
	case errors.Is(err, fs.ErrPermission) && h.from.mac.EUID == 0:
		return &processes.GuardedError{Why: "macOS lets nobody signal it, root included (System Integrity Protection)"}
	}
	return err
}

// Wait implements [processes.Pinned]. The kernel says for little when the PID is free;
// only ps tells a process that has ended and was not collected, or another that has the PID.
func (h *held) Wait(limit time.Duration) (bool, error) {
	return h.await(limit, func(p ps.Process, err error) (bool, error) {
		if errors.Is(err, processes.ErrNoProcess) {
			return true, nil
		}
		return p.State == 'Z', err
	})
}

// Collected implements [processes.Pinned].
func (h *held) Collected(limit time.Duration) bool {
	gone, err := h.await(limit, func(_ ps.Process, err error) (bool, error) {
		return errors.Is(err, processes.ErrNoProcess), nil
	})
	return gone && err == nil
}

// await looks until enough has been seen, at least once, and until limit passes. A
// look that fails is one of many: the last one counts.
func (h *held) await(limit time.Duration, enough func(ps.Process, error) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		p, err := h.glance()
		done, err := enough(p, err)
		if done {
			return true, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, err
		}
	}
}

// glance asks the kernel before it runs ps.
func (h *held) glance() (ps.Process, error) {
	if errors.Is(h.from.mac.Kill(h.pid, 0), syscall.ESRCH) {
		return ps.Process{}, processes.ErrNoProcess
	}
	return h.look(context.Background())
}

// Obstacle implements [processes.Pinned]. Who traces a process is not told by ps.
func (h *held) Obstacle() processes.Obstacle {
	p, err := h.look(context.Background())
	if err != nil || p.State != 'U' {
		return processes.Obstacle{}
	}
	return processes.Obstacle{Uninterruptible: true, State: "U"}
}

// Close implements [processes.Pinned].
func (h *held) Close() error { return nil }
