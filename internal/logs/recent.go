// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"time"

	"sentinel/internal/answer"
)

// recentSpan is how far back the last lines of a service may lie.
const recentSpan = 30 * 24 * time.Hour

// Recent returns the patterns of the last lines of a service, the worst first, and what is missing.
// The unit is as [Source].Unit returned it.
func Recent(ctx context.Context, source Source, unit string, lines int, now time.Time) ([]Pattern, answer.Gaps, error) {
	groups, left := newGrouper(lines), lines
	s := Selection{Unit: unit, Since: now.Add(-recentSpan), Until: now, UntilNow: true, Priority: NoPriority, Last: lines}
	coverage, err := source.Read(ctx, s, func(e Entry) bool {
		groups.add(e)
		left--
		return left > 0
	})
	if err != nil {
		return nil, nil, err
	}
	gaps, patterns := answer.Gaps{}, []Pattern{}
	for _, g := range coverage.Gaps {
		gaps.Note(g.Log, g.Why)
	}
	for _, t := range groups.sorted() {
		patterns = append(patterns, t.shown())
	}
	return patterns, gaps, ctx.Err()
}
