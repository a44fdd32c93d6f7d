// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"slices"
	"time"

	"sentinel/internal/answer"
)

// A point is a sample with when it was taken.
type point struct {
	at    time.Time
	boot  string
	doubt string // why at is uncertain; "" if it is not
	*kept
}

// missed is how long after a sample the next one is overdue.
const missed = 5 * Interval / 2

// between returns the points of a span of time, which includes its ends.
func between(points []point, since, until time.Time) []point {
	from, _ := slices.BinarySearchFunc(points, since, func(p point, t time.Time) int { return p.at.Compare(t) })
	to := from
	for to < len(points) && !points[to].at.After(until) {
		to++
	}
	return points[from:to]
}

// A Gap is a time without samples. Nothing is known of it.
type Gap struct {
	From   string `json:"from"`   // RFC 3339, UTC
	To     string `json:"to"`     // RFC 3339, UTC
	Reason string `json:"reason"` // why, as far as that is known
}

// Why there are no samples.
const (
	gapBefore = "the recorder had not begun, or what it kept then is not kept any more"
	gapOff    = "the machine was off, or was started anew"
	gapMissed = "no sample was taken: the machine was suspended or paused, or the recorder did not run"
	gapSince  = "no sample has been taken since"
)

// gaps lists the times without samples between since and until. Why there are none is told by those around
// them, which may lie outside.
func gaps(all []point, since, until time.Time) []Gap {
	list := []Gap{}
	add := func(from, to time.Time, reason string) {
		if from.Before(since) {
			from = since
		}
		if to = earlier(to, until); to.Sub(from) > missed {
			list = append(list, Gap{stamp(from), stamp(to), reason})
		}
	}
	add(since, all[0].at, gapBefore)
	for i, p := range all[1:] {
		reason := gapMissed
		if p.boot != all[i].boot {
			reason = gapOff
		}
		add(all[i].at, p.at, reason)
	}
	add(all[len(all)-1].at, until, gapSince)
	return list
}

// doubtful notes up to when dates are uncertain.
func doubtful(points []point, gaps *answer.Gaps) {
	noted := map[string]bool{"": true}
	for _, p := range slices.Backward(points) {
		if !noted[p.doubt] {
			noted[p.doubt] = true
			gaps.Note("times", "those until "+stamp(p.at)+" are uncertain: "+p.doubt)
		}
	}
}

// stamp is a moment as documents have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
