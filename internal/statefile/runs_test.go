// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"testing"
	"time"
)

type moment struct{ at time.Time }

func (m moment) Time() time.Time { return m.at }

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

func TestRunsWithoutATimeAreNone(t *testing.T) {
	known, none := moment{time.Unix(1, 0)}, moment{}
	for _, c := range []struct {
		runs Runs[moment]
		want bool
	}{{Runs[moment]{}, false}, {Runs[moment]{Last: known}, true}, {Runs[moment]{known, &known}, true}, {Runs[moment]{known, &none}, false}, {Runs[moment]{none, &known}, false}} {
		if got := c.runs.Whole(); got != c.want {
			t.Errorf("%+v: %v", c.runs, got)
		}
	}
}
