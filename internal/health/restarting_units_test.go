// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

// A service that dies and is started again for ever is never failed for long.
func TestServicesThatKeepDyingAreAReason(t *testing.T) {
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var gaps answer.Gaps
	r := Build(Facts{Restarting: &[]RestartingUnit{{Name: "calm.service", Restarts: 3}, {Name: "web\x1b.service", Restarts: 57, Since: since, Waits: true}}}, Options{Rows: -1}, &gaps)
	r.Judge(DefaultThresholds())
	if len(r.ThreatReasons) != 1 || r.ThreatLevel != Warning || *r.RestartingUnitsTotal != 2 {
		t.Fatalf("%s %+v", r.ThreatLevel, r.ThreatReasons)
	}
	if diff := cmp.Diff([]Restarting{{r.RestartingUnits[0].Name, 57, "2026-03-04T05:06:07Z", true}, {Name: "calm.service", Restarts: 3}}, r.RestartingUnits); diff != "" {
		t.Error(diff)
	}
	name := r.RestartingUnits[0].Name
	reason := r.ThreatReasons[0]
	if reason.Code != "RESTARTING_UNITS" || reason.Culprit != name+" (57 times since 2026-03-04T05:06:07Z), calm.service (3 times)" {
		t.Errorf("%+v", reason)
	}
	r = Build(Facts{Restarting: &[]RestartingUnit{}}, Options{Rows: -1}, &gaps)
	r.Judge(DefaultThresholds())
	if r.ThreatLevel != Low || *r.RestartingUnitsTotal != 0 || len(gaps) != 0 {
		t.Errorf("%+v %+v", r.ThreatReasons, gaps)
	}
}
