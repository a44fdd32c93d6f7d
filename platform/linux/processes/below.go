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
	last, err := t.read(ctx, recent)
	if err != nil {
		return nil, err
	}
	parents := make(map[int]int, len(last.rows))
	for _, p := range last.rows {
		parents[p.PID] = p.ParentPID
	}
	family := processes.Family(parents, append(t.joined(last.rows, pid), pid)...)
	return relatives(last.rows, func(p procfs.Process) bool { return p.PID != pid && family[p.PID] }), nil
}

// joined picks the processes in a PID namespace whose first process has the ID; none where it is not the first of one.
func (t *Terminator) joined(rows []procfs.Process, first int) (in []int) {
	status, err := t.proc.Status(first)
	if err != nil || !status.First {
		return nil
	}
	beside := t.beside(first)
	for _, p := range rows {
		if beside(p.PID) {
			in = append(in, p.PID)
		}
	}
	return in
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
