// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sentinel/internal/health"
	"sentinel/internal/sanitize"
)

var errHidden = errors.New("processes of other users are hidden here")

// zombies counts the processes that have ended, all threads of them, and names the parents that leave them behind, those of
// the most first. Every PID namespace has a process 1; if it is not
// visible, hidepid (proc(5)) hides the processes of other users.
func (s source) zombies(ctx context.Context) (health.Reading, error) {
	table, unread, err := s.table.Recent(ctx)
	if err != nil {
		return health.Reading{}, err
	}
	var r health.Reading
	names, left := map[int]string{}, map[int]int{}
	for _, p := range table {
		names[p.PID] = p.Name
		if p.Zombie() {
			r.Value++
			left[p.ParentPID]++
		}
	}
	if _, initSeen := names[1]; !initSeen {
		return r, errHidden
	}
	parents := slices.SortedFunc(maps.Keys(left), func(a, b int) int { return cmp.Or(cmp.Compare(left[b], left[a]), cmp.Compare(a, b)) })
	for _, pid := range parents[:min(maxParents, len(parents))] {
		r.Names = append(r.Names, fmt.Sprintf("%d of %s (PID %d)", left[pid], sanitize.Quoted(names[pid], 64), pid))
		r.PIDs = append(r.PIDs, pid)
	}
	return r.OrMore(unread)
}

// maxParents is how many parents of zombies are named.
const maxParents = 3
