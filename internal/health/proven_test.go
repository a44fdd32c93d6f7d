// SPDX-License-Identifier: Apache-2.0

package health

import "testing"

// What anybody can have written makes nothing critical, and takes nothing from what is known.
func TestWhatIsOnlyClaimedIsAWarning(t *testing.T) {
	for what, c := range map[string]struct {
		value  float64
		proven *float64
		want   string
	}{
		"all of it is known":  {1100, nil, Critical},
		"none is":             {1100, new(0.0), Warning},
		"a little is":         {1100, new(999.0), Warning},
		"enough is":           {2000, new(1000.0), Critical},
		"a few are claimed":   {30, new(0.0), Warning},
		"too few are claimed": {19, new(0.0), ""},
	} {
		r := &Report{readings: map[string]Reading{FailedLogins: {Value: c.value, Proven: c.proven}}}
		got := failedLogins.reasons(r, DefaultThresholds())
		if len(got) > 1 || (len(got) == 1) != (c.want != "") || len(got) == 1 && (got[0].Severity != c.want || *got[0].Threshold != map[string]float64{Critical: 1000, Warning: 20}[c.want]) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
