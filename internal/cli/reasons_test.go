// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/health"
)

func TestWhatIsBehindSeveralReasonsIsNamedOnce(t *testing.T) {
	d := &healthDocument{Report: health.Report{ThreatReasons: []health.Reason{{Code: "CPU_HIGH", Culprit: "x (PID 1)"}, {Code: "MEMORY_LOW", Culprit: "y (PID 2)"}, {Code: "LOAD_HIGH", Culprit: "x (PID 1)"}, {Code: "REBOOT"}}}}
	d.nameOnce()
	for i, want := range []string{"x (PID 1)", "y (PID 2)", "", ""} {
		if got := d.ThreatReasons[i].Culprit; got != want {
			t.Errorf("%s: %q, want %q", d.ThreatReasons[i].Code, got, want)
		}
	}
}
