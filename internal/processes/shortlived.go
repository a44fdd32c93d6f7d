// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"time"

	"sentinel/internal/sanitize"
)

// Bounds from which CPU time that no row has used is said. Below a fifth of a core, and below a tenth of what all
// used, it may as well be that the kernel counts the machine by the ticks of a clock and processes exactly.
const (
	leastLost = 20 // percent of a core
	lostShare = 0.1
)

// lost says how much of the window went to processes that ended in it. A relay of them, each of which starts the
// next one and ends, is in no row whatever it uses; so are most programs that a build runs.
func (r *Ranking) lost(ctx context.Context, source Source, before, after Table, used []usage) {
	elapsed, busy := span(before, after), after.Busy-before.Busy
	if before.Busy == 0 || after.Busy == 0 || busy <= 0 || elapsed <= 0 {
		return
	}
	all := 100 * float64(busy) / float64(elapsed)
	rest := all
	for _, u := range used {
		rest -= u.percent
	}
	if rest < max(leastLost, lostShare*all) {
		return
	}
	rest = round(rest, 1)
	r.UnattributedPercent = &rest
	r.Unattributed = "processes that have ended" + reaper(ctx, source, before, after, time.Duration(rest/100*float64(elapsed)))
	r.Unavailable.Note("processes", fmt.Sprintf("%s used %.0f %% of a core within the window, and have no row", r.Unattributed, rest))
}

// reaper names the process that waited for most of them: who started them, or process 1 for those whose parent had
// ended. One that waited for a child of long standing has more from it than was used in the window. Where before does not
// tell what a process had collected, nothing is known.
func reaper(ctx context.Context, source Source, before, after Table, lost time.Duration) string {
	was := make(map[int]Sample, len(before.Samples))
	for _, s := range before.Samples {
		was[s.PID] = s
	}
	var by Sample
	var most time.Duration
	for _, s := range after.Samples {
		old := was[s.PID]
		grown := s.Reaped - old.Reaped
		if old.Start == s.Start && old.Reaped > 0 && grown > most && grown <= lost*3/2 {
			by, most = s, grown
		}
	}
	if most < lost/2 || most == 0 {
		return ""
	}
	of := ""
	if d, _ := source.Details(ctx, by.PID, by.Start); d.User != "" { //nolint:errcheck // one that has ended since is named without its user
		of = " of " + sanitize.Text(d.User, 64)
	}
	return ", most of them collected by " + Relative{by.PID, by.Name}.who() + of
}
