// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

// What is not known is no zero, and hides nobody.
func TestMemoryThatIsNotKnownIsSaid(t *testing.T) {
	one := table(began, Sample{PID: 8, Name: "x", Unseen: true}, Sample{PID: 9, MemoryBytes: 1 << 30, State: 'S'})
	one.MemoryTotal = 4 << 30
	s := &source{details: map[int]Details{9: {User: "ann"}, 8: {User: "eve"}}}
	got := Rank(t.Context(), s, one, table(began.Add(time.Second), one.Samples...), Options{Sort: "memory"})
	if p := got.Processes; len(p) != 2 || p[0].PID != 9 || p[1].Status != "unknown" || p[1].MemoryPercent != nil || p[1].Seen() || !p[0].Seen() {
		t.Errorf("%+v", got.Processes)
	}
	got = Rank(t.Context(), s, one, one, Options{Sort: "cpu"})
	want := answer.Gaps{{Field: "processes.mem_mb", Reason: `the memory and the state of "x" (PID 8) are not known: the first thread has ended, and no other could be looked at`}}
	if diff := cmp.Diff(want, got.Unavailable); diff != "" {
		t.Error(diff)
	}
	for range 4 {
		one.Samples = append(one.Samples, Sample{PID: 9, Name: "y", Unseen: true})
	}
	if got := one.Unseen(); got != `"x" (PID 8), "y" (PID 9), "y" (PID 9) and 2 more` {
		t.Error(got)
	}
}

// The limit of open files is one of each table, and threads may each have one.
func TestTheLargestTableOfFilesIsHeldAgainstTheLimit(t *testing.T) {
	limits := []Limit{{Name: "Max open files", Soft: new(uint64(1000))}}
	for most, want := range map[int]int{10: 0, 900: 1} {
		o := Observation{MostOpen: most, Inspection: Inspection{OpenFiles: &OpenFiles{Total: 5000}, Limits: limits}}
		said := 0
		o.notableUse(func(code, _, message string) {
			if said++; code != "FILES_NEAR_LIMIT" || message != "It has 900 of at most 1000 files open." {
				t.Errorf("%s: %s", code, message)
			}
		})
		if said != want {
			t.Errorf("%d files in one table: %d warnings", most, said)
		}
	}
}
