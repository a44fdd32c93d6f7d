// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"cmp"
	"context"
	"slices"

	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

// Below implements [processes.TerminationSource]. What has joined the namespace of the first of one (nsenter(1), docker
// exec) descends from elsewhere.
func (t *Terminator) Below(ctx context.Context, pid int) ([]processes.Relative, error) {
	rows, family, err := t.family(ctx, pid)
	return relatives(rows, func(p procfs.Process) bool { return p.PID != pid && family[p.PID] }), err
}

// family adds to processes those that Below lists of each, among all rows.
func (t *Terminator) family(ctx context.Context, of ...int) (rows []procfs.Process, all map[int]bool, err error) {
	last, err := t.read(ctx, recent)
	if err != nil {
		return nil, nil, err
	}
	parents := make(map[int]int, len(last.rows))
	for _, p := range last.rows {
		parents[p.PID] = p.ParentPID
	}
	return last.rows, processes.Family(parents, append(t.joined(last.rows, t.firsts(of)), of...)...), nil
}

// firsts picks those that are the first processes of PID namespaces.
func (t *Terminator) firsts(pids []int) (list []int) {
	for _, pid := range pids {
		if status, err := t.proc.Status(pid); err == nil && status.First {
			list = append(list, pid)
		}
	}
	return list
}

// joined picks the processes in the PID namespaces of some.
func (t *Terminator) joined(rows []procfs.Process, firsts []int) (in []int) {
	if len(firsts) == 0 {
		return nil
	}
	namespaces := map[string]bool{}
	for _, pid := range firsts {
		if name, err := t.proc.Link(pid, "ns/pid"); err == nil {
			namespaces[name] = true
		}
	}
	for _, p := range rows {
		if name, err := t.proc.Link(p.PID, "ns/pid"); err == nil && namespaces[name] {
			in = append(in, p.PID)
		}
	}
	return in
}

// endWith adds to processes what the kernel ends with them: all of a PID namespace end with the first there.
func (t *Terminator) endWith(ctx context.Context, pids []int) (all map[int]bool, err error) {
	all = map[int]bool{}
	if firsts := t.firsts(pids); len(firsts) > 0 {
		if _, all, err = t.family(ctx, firsts...); err != nil {
			return nil, err
		}
	}
	for _, pid := range pids {
		all[pid] = true
	}
	return all, nil
}

// beside tells which processes are in the PID namespace of one.
func (t *Terminator) beside(pid int) func(other int) bool {
	namespace, err := t.proc.Link(pid, "ns/pid")
	return func(other int) bool {
		its, failed := t.proc.Link(other, "ns/pid")
		return err == nil && failed == nil && its == namespace
	}
}

func relatives(rows []procfs.Process, wanted func(procfs.Process) bool) (list []processes.Relative) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(p procfs.Process) bool { return !wanted(p) })
	slices.SortStableFunc(rows, func(a, b procfs.Process) int { return cmp.Or(cmp.Compare(a.Start, b.Start), a.PID-b.PID) })
	for _, p := range rows {
		list = append(list, processes.Relative{PID: p.PID, Name: p.Name})
	}
	return list
}
