// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"errors"
	"testing"
	"time"
)

type moment struct{ at time.Time }

func (m moment) Time() time.Time { return m.at }

func (m moment) Check() error {
	if m.at.Year() > 2100 {
		return ErrDamaged
	}
	return nil
}

// Whoever asks twice sees twice what is new since the conversation before, and the next conversation what is
// new since this one.
func TestRunsOfAConversationAreComparedWithTheSameOne(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	after := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	var kept Runs[moment]
	for _, run := range []struct{ at, since int }{{1, 0}, {9, 0}, {60, 0}, {61, 0}, {69, 0}, {80, 60}, {81, 60}, {70, 80}, {100, 70}} {
		if kept.None() {
			kept = kept.Add(moment{start})
		}
		if got := kept.Since(after(run.at)).at; got != after(run.since) {
			t.Errorf("run at minute %d: compared with %v", run.at, got)
		}
		if !kept.Continues(after(run.at)) {
			kept = kept.Add(moment{after(run.at)})
		}
	}
}

func TestEachRunOfAFileIsChecked(t *testing.T) {
	known, none, wrong := moment{time.Unix(1, 0)}, moment{}, moment{time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		file File[moment]
		want error
	}{
		{NewFile(Runs[moment]{}), ErrForm}, {NewFile(Runs[moment]{Last: known}), nil}, {NewFile(Runs[moment]{known, &known}), nil}, {NewFile(Runs[moment]{known, &none}), ErrForm},
		{NewFile(Runs[moment]{none, &known}), ErrForm}, {NewFile(Runs[moment]{wrong, &known}), ErrDamaged}, {NewFile(Runs[moment]{known, &wrong}), ErrDamaged}, {File[moment]{2, Runs[moment]{Last: known}}, ErrForm},
	} {
		if err := c.file.Check(); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.file, err)
		}
	}
}
