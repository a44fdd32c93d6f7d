// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"sentinel/internal/trust"
)

// StatePath is where root keeps the verdicts for the next run. It lists what is
// weak here, so only root reads it.
const StatePath = "/var/lib/sentinel/audit.json"

// Bounds of the file.
const (
	maxState    = 64 // KiB
	maxVerdicts = 1000
)

// A State is the verdicts of the last run.
type State struct {
	At       time.Time         `json:"at"`
	Verdicts map[string]Status `json:"verdicts"` // by ID
}

type stateFile struct {
	Version int `json:"version"` // 1
	State
}

// Load reads the state at path. The error is fs.ErrNotExist where there is none
// yet, and another for a file that is damaged or that somebody other than root could
// have written.
func Load(path string) (State, error) {
	raw, err := trust.RootOrSelf.Read(path, maxState)
	if err != nil {
		return State{}, err
	}
	return parseState(raw)
}

func parseState(raw []byte) (State, error) {
	var f stateFile
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return State{}, errors.New("it is damaged")
	}
	if d.More() || f.Version != 1 || f.At.IsZero() || len(f.Verdicts) > maxVerdicts {
		return State{}, errors.New("it does not have the expected form")
	}
	for _, s := range f.Verdicts {
		if s != Pass && s != Warn && s != Fail {
			return State{}, errors.New("it holds an unknown verdict")
		}
	}
	return f.State, nil
}

// Save replaces the state at path: after a crash it is the old one or the new
// one. The directory is made when it is missing.
func Save(path string, s State) error {
	raw, err := json.Marshal(stateFile{Version: 1, State: s})
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the directory is for everyone to enter; the file is not
		return err
	}
	if err := trust.RootOrSelf.File(dir); err != nil {
		return err
	}
	return replace(path, append(raw, '\n'))
}

// replace writes a file that root alone may read, whatever mode the one before
// it has.
func replace(path string, raw []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer f.Cleanup() //nolint:errcheck // nothing is left of it, or it is in place
	if _, err := f.Write(raw); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.CloseAtomicallyReplace()
}

// A Changed is what differs from the last run.
type Changed struct {
	New   []string `json:"new"`   // IDs of checks whose verdict is worse, or not PASS for the first time
	Fixed []string `json:"fixed"` // IDs of checks that pass and did not
	Since string   `json:"since"` // of the last run; RFC 3339, UTC
}

// remember compares with the last run and keeps this one in its place. What
// fails in that costs only the comparison.
func (r *Report) remember(path string, outcomes []outcome, now time.Time) {
	last, err := Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unavailable.Note("changed", "this is the first run that is kept")
	case err != nil:
		r.Unavailable.Note("changed", "the record of the last run cannot be used: "+err.Error())
	default:
		r.Changed = compare(last, outcomes)
	}
	if err := Save(path, next(last, outcomes, now)); err != nil {
		r.Unavailable.Note("changed", "this run cannot be kept for the next: "+err.Error())
	}
}

func compare(last State, outcomes []outcome) *Changed {
	c := &Changed{New: []string{}, Fixed: []string{}, Since: last.At.UTC().Format(time.RFC3339)}
	for _, o := range outcomes {
		before, known := last.Verdicts[o.ID]
		switch {
		case o.Status == "":
		case o.Status == Pass && known && before != Pass:
			c.Fixed = append(c.Fixed, o.ID)
		case o.Status != Pass && (!known || halves(o.Status) < halves(before)):
			c.New = append(c.New, o.ID)
		}
	}
	return c
}

// next is what to keep. A check that could not look this time keeps the verdict
// it had, so that the run that sees again compares with it; one that is exempt or does
// not apply has none.
func next(last State, outcomes []outcome, now time.Time) State {
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
