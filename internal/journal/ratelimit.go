// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"math"
	"slices"
	"time"

	"sentinel/internal/fault"
)

// A Limit bounds how many intents may begin within a period. It is checked under
// the lock of the append, so that concurrent processes cannot exceed it together; a refusal may come before (turn.go).
type Limit struct {
	Most   int
	Within time.Duration
	Counts func(Record) bool // which intents count; nil counts all
}

// maxOldInARow is after how many records in a row that are too old the search ends.
// A clock that was set back for a while leaves some old ones among the new.
const maxOldInARow = 50

// check fails with RATE_LIMITED. Records from the future, which remain when a clock
// is set back, count if they are no further from now than Within.
func (l *Limit) check(s *state, now time.Time) error {
	if l == nil {
		return nil
	}
	begun, old, oldest := 0, 0, now
	for line, err := range backwards(append(slices.Clip(s.rotated), s.current)) {
		if err != nil {
			return err
		}
		if begun >= l.Most || old == maxOldInARow {
			break
		}
		r, err := parseLine(line)
		if err != nil {
			continue
		}
		age := now.Sub(r.Time)
		if age >= l.Within {
			old++
			continue
		}
		old = 0
		if age > -l.Within && r.Event == EventIntent && (l.Counts == nil || l.Counts(r)) {
			begun, oldest = begun+1, r.Time
		}
	}
	if begun < l.Most {
		return nil
	}
	return fault.New(fault.RateLimited, fmt.Sprintf("As many such operations as are allowed within %s were begun: %d.", l.Within, begun)).
		WithFix(fmt.Sprintf("Wait %s; see what was done with: sudo sentinel --history", rounded(l.Within-now.Sub(oldest))))
}

// rounded is how long to wait, in seconds or, where that is long, in minutes.
func rounded(wait time.Duration) string {
	if wait > 10*time.Minute {
		return fmt.Sprintf("%.0f min", math.Ceil(wait.Minutes()))
	}
	return fmt.Sprintf("%.0f s", math.Ceil(wait.Seconds()))
}
