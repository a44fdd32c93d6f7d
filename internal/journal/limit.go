// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"math"
	"slices"
	"time"

	"sentinel/internal/fault"
)

// A Limit is how many intents may begin within a time. It is judged under the
// lock of the append, so that runs at the same time cannot pass it together.
type Limit struct {
	Most   int
	Within time.Duration
	Counts func(Record) bool // which intents count; nil counts all
}

// lookBack is how many records in a row must be too old before those behind them
// are taken to be so: a clock that was set back and right again leaves some among the new.
const lookBack = 50

// judge refuses with RATE_LIMITED. Records from the future, which a clock that
// was set back leaves, count as long as they are no further away than the past that counts.
func (l *Limit) judge(s *state, now time.Time) error {
	if l == nil {
		return nil
	}
	begun, old, oldest := 0, 0, now
	for line, err := range backwards(append(slices.Clip(s.old), s.current)) {
		if err != nil {
			return err
		}
		if begun >= l.Most || old == lookBack {
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
	wait := math.Ceil((l.Within - now.Sub(oldest)).Seconds())
	return fault.New(fault.RateLimited, fmt.Sprintf("%d such operations were begun within %s, which is as many as are allowed.", begun, l.Within)).
		WithFix(fmt.Sprintf("Wait %.0f seconds; see what was done with: sudo sentinel --history", wait))
}
