// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io/fs"
	"time"

	"sentinel/internal/statefile"
)

// StatePath is where root stores the verdicts for the next run. It lists the weak
// points of the machine, so only root can read it.
const StatePath = "/var/lib/sentinel/audit.json"

// Bounds of the file.
const (
	maxState    = 128 // KiB
	maxVerdicts = 1000
)

// A State holds the verdicts of the last run.
type State struct {
	At       time.Time         `json:"at"`
	Verdicts map[string]Status `json:"verdicts"` // by ID
}

// Time implements statefile.Run.
func (s State) Time() time.Time { return s.At }

// Check implements statefile.State.
func (s State) Check() error {
	if len(s.Verdicts) > maxVerdicts {
		return statefile.ErrForm
	}
	for _, v := range s.Verdicts {
		if v != Pass && v != Warn && v != Fail {
			return errors.New("it holds an unknown verdict")
		}
	}
	return nil
}

// A Changed holds the differences from the last run.
type Changed struct {
	New   []string `json:"new"`   // IDs of checks whose verdict is worse, or that did not pass in their first run
	Fixed []string `json:"fixed"` // IDs of checks that pass now and did not before
	Since string   `json:"since"` // time of the last run; RFC 3339, UTC
}

// compareAndKeep compares with the last run and stores this one in its place. An
// error costs only the comparison.
func (r *Report) compareAndKeep(path string, outcomes []outcome, now time.Time) {
	kept, err := statefile.Read[statefile.File[State]](path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unavailable.Note("changed", "this is the first run that is kept")
	case err != nil:
		r.Unavailable.Note("changed", "the record of the last run cannot be used: "+err.Error())
	default:
		if r.Changed = changedSince(kept.Since(now), outcomes); kept.Continues(now) {
			return
		}
	}
	if err := statefile.Write(path, statefile.NewFile(kept.Add(nextState(kept.Last, outcomes, now))), maxState); err != nil {
		r.Unavailable.Note("changed", "this run cannot be kept for the next: "+err.Error())
	}
}

func changedSince(last State, outcomes []outcome) *Changed {
	c := &Changed{New: []string{}, Fixed: []string{}, Since: last.At.UTC().Format(time.RFC3339)}
	for _, o := range outcomes {
		before, known := last.Verdicts[o.ID]
		switch {
		case o.Status == "":
		case o.Status == Pass && known && before != Pass:
			c.Fixed = append(c.Fixed, o.ID)
		case o.Status != Pass && (!known || points(o.Status) < points(before)):
			c.New = append(c.New, o.ID)
		}
	}
	return c
}

// nextState returns the state to store. A check that could not look this time keeps
// its previous verdict, for the next run that can. A check that is exempt or does
// not apply has none.
func nextState(last State, outcomes []outcome, now time.Time) State {
	s := State{At: now.UTC().Truncate(time.Second), Verdicts: map[string]Status{}}
	for _, o := range outcomes {
		before, known := last.Verdicts[o.ID]
		switch {
		case o.Status != "":
			s.Verdicts[o.ID] = o.Status
		case o.Applies && known:
			s.Verdicts[o.ID] = before
		}
	}
	return s
}
