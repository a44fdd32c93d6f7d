// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"slices"
	"testing"

	"sentinel/internal/audit"
)

// An answer for a program says once what is well, and all of what is not.
func TestABriefAuditIsHalfAsLongAndLosesNothingThatIsNotWell(t *testing.T) {
	for _, name := range []string{"debian", "hardened"} {
		long, err := audit.Run(t.Context(), source(t, name), audit.Options{Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		short, err := audit.Run(t.Context(), source(t, name), audit.Options{Brief: true})
		if err != nil {
			t.Fatal(err)
		}
		before, after := length(t, long), length(t, short)
		t.Logf("%s: %d bytes, brief %d", name, before, after)
		if most := 7_500; after*2 > before || after > most {
			t.Errorf("%s: %d bytes, brief %d; want half, and at most %d", name, before, after, most)
		}
		notWell, well := partition(long.Checks)
		if got, passed := partition(short.Checks); !slices.Equal(got, notWell) || len(passed) > 0 || *short.PassedTotal != len(well) {
			t.Errorf("%s: %v are not well, the brief answer has %v and of those that pass %v", name, notWell, got, passed)
		}
		if short.Score != long.Score || short.Overall != long.Overall || short.ChecksTotal != long.ChecksTotal || len(short.Skipped)+len(short.NotApplicable) != len(long.Skipped) {
			t.Errorf("%s: the figures differ: %+v, %+v", name, long, short)
		}
		for _, c := range short.Checks {
			leftOut := c.Fix == "" && (c.Severity != audit.Low || !short.Truncated) // that of the least, where there are very many
			if c.ID == "" || c.Value == "" || leftOut || c.Severity == "" {
				t.Errorf("%s: %+v lacks what there is to know", name, c)
			}
		}
	}
}

// partition returns the IDs of the checks that do not pass, with their value, and of those that do.
func partition(checks []audit.Result) (notWell, well []string) {
	for _, c := range checks {
		if c.Status == audit.Pass {
			well = append(well, c.ID)
		} else {
			notWell = append(notWell, c.ID+" "+string(c.Status)+" "+c.Value)
		}
	}
	return notWell, well
}

func length(t *testing.T, r audit.Report) int {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}
