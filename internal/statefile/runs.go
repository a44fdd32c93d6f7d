// SPDX-License-Identifier: Apache-2.0

package statefile

import "time"

// conversation is how long runs count as one, that which came first.
const conversation = 10 * time.Minute

// Runs are the last run that is kept, and the one before. Runs shortly after each other, as in a
// conversation, are all compared with the same one, so that none takes what is new from the next.
type Runs[S interface{ Time() time.Time }] struct {
	Last   S  `json:"last"`
	Before *S `json:"before,omitempty"`
}

// None reports that no run is kept yet.
func (r Runs[S]) None() bool { return r.Last.Time().IsZero() }

// Continues reports that a run at a time belongs to the conversation of the last one, and is not kept.
func (r Runs[S]) Continues(now time.Time) bool {
	age := now.Sub(r.Last.Time())
	return age >= 0 && age < conversation
}

// Since is the run that one at a time is compared with.
func (r Runs[S]) Since(now time.Time) S {
	if r.Before != nil && r.Continues(now) {
		return *r.Before
	}
	return r.Last
}

// Add returns what is to be kept after a run.
func (r Runs[S]) Add(s S) Runs[S] {
	if r.None() {
		return Runs[S]{Last: s}
	}
	return Runs[S]{s, &r.Last}
}

// Whole reports that all runs have a time.
func (r Runs[S]) Whole() bool {
	return !r.None() && (r.Before == nil || !(*r.Before).Time().IsZero())
}
