// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"errors"
	"time"
)

// conversation is how long runs count as one, that which came first.
const conversation = 10 * time.Minute

// A Run is what one run saw.
type Run interface {
	Time() time.Time // zero is of no run
	State
}

// A File keeps runs.
type File[R Run] struct {
	Version int `json:"version"` // 1
	Runs[R]
}

// NewFile returns the content of a file with runs.
func NewFile[R Run](runs Runs[R]) File[R] { return File[R]{1, runs} }

// Check implements [State].
func (f File[R]) Check() error {
	if f.Version != 1 {
		return ErrForm
	}
	return f.Runs.Check()
}

// Runs are the last run that is kept, and the one before. Runs shortly after each other, as in a
// conversation, are all compared with the same one, so that none takes what is new from the next.
type Runs[R Run] struct {
	Last   R  `json:"last"`
	Before *R `json:"before,omitempty"`
}

// None reports that no run is kept yet.
func (r Runs[R]) None() bool { return r.Last.Time().IsZero() }

// Continues reports that a run at a time belongs to the conversation of the last one, and is not kept.
func (r Runs[R]) Continues(now time.Time) bool {
	age := now.Sub(r.Last.Time())
	return age >= 0 && age < conversation
}

// Since is the run that one at a time is compared with.
func (r Runs[R]) Since(now time.Time) R {
	if r.Before != nil && r.Continues(now) {
		return *r.Before
	}
	return r.Last
}

// Add returns what is to be kept after a run.
func (r Runs[R]) Add(run R) Runs[R] {
	if r.None() {
		return Runs[R]{Last: run}
	}
	return Runs[R]{run, &r.Last}
}

// Check implements [State].
func (r Runs[R]) Check() error {
	if r.Before == nil {
		return check(r.Last)
	}
	return errors.Join(check(r.Last), check(*r.Before))
}

func check(run Run) error {
	if run.Time().IsZero() {
		return ErrForm
	}
	return run.Check()
}
