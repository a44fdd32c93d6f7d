// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"slices"

	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

// looksAgain is how often processes are looked at again whose threads end while they are looked at.
const looksAgain = 5

// ended notes a process to be looked at again whose first thread has ended, unless it has itself: any user
// can end that, and have each of the others start the next one and end.
func (l *look) ended(c processes.Claim) {
	p, err := l.proc.Process(c.PID)
	switch {
	case procfs.Ended(err), err == nil && (p.Start != l.start[c.PID] || !firstEnded(p) || p.Over()):
	case err != nil:
		l.bar(c, err)
	default:
		l.headless[c.PID] = p.Headless
		l.again = append(l.again, claimOf(c.PID, c.Name))
	}
}

// firstEnded says that the first thread of a process has ended, or ends. Where it has not, what is missing
// of the process says nothing of its threads: the kernel's have no program.
func firstEnded(p procfs.ProcessStat) bool { return p.Headless || p.Exiting() }

// judgeAgain looks at processes again whose threads have ended, each by itself, so that a thread has to
// last for as short as can be. Those that this does not suffice for were not seen.
func (l *look) judgeAgain(ctx context.Context) error {
	for range looksAgain {
		if len(l.again) == 0 {
			return nil
		}
		some := l.again
		l.again = nil
		for one := range slices.Chunk(some, 1) {
			if err := l.judgeAll(ctx, one); err != nil {
				return err
			}
		}
	}
	for _, c := range l.again {
		l.bar(c, procfs.ErrThreadsChange)
	}
	return nil
}

// askAgain waits longer for those whose memory was not read at once, which a busy machine brings about, too: last,
// so that this takes nothing from others. Those that are known to be disguised stay untold as well.
func (l *look) askAgain(ctx context.Context) error {
	stuck, known := l.stuck, map[int]bool{}
	for _, d := range l.found {
		known[d.PID] = true
	}
	l.until = l.until.Add(l.proc.Waited())
	l.Source, l.stuck, l.locked = l.hasty(lastPatience, lastStuck), nil, map[int]bool{}
	var some []processes.Claim
	for _, c := range stuck {
		if known[c.PID] {
			l.lock(c)
		} else {
			some = append(some, claimOf(c.PID, c.Name))
		}
	}
	err := l.judgeAll(ctx, some)
	if errors.Is(err, errManyClaims) {
		l.stuck, err = stuck, nil
	}
	return err
}

// lasted says whether a thread that was looked at in the place of a process has ended meanwhile: what a
// thread that ends has no more is empty, without an error, and its number can be another's after it.
func (l *look) lasted(c processes.Claim) error {
	pid, ok := l.leader[c.PID]
	if !ok {
		return nil
	}
	if err := l.proc.Together(c.PID, pid); err != nil {
		return err
	}
	_, err := l.proc.Link(c.PID, "exe") // gone with the memory, before the thread is
	return err
}
