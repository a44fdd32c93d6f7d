// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

// A compiler that runs for the half second of the measurement is no emergency;
// a processor that is busy and has been for a minute is.
func TestABusyMomentAloneIsNotCritical(t *testing.T) {
	for name, c := range map[string]struct {
		load, waited *float64
		want         string
	}{
		"nothing else is known":   {nil, nil, Critical},
		"quiet minute":            {new(0.5), new(3.0), Warning},
		"quiet load, no pressure": {new(0.5), nil, Warning},
		"loaded minute":           {new(8.0), new(3.0), Critical},
		"tasks waited":            {new(0.5), new(60.0), Critical},
		"tasks waited, no load":   {nil, new(60.0), Critical},
	} {
		r := Report{CPU: &CPU{Percent: new(99.9), Cores: 4, Load1: c.load}, Pressure: map[string]Pressure{"cpu": {SomeAvg60: c.waited}}}
		r.Judge(DefaultThresholds())
		if len(r.ThreatReasons) == 0 || r.ThreatReasons[0].Code != "CPU_HIGH" || r.ThreatReasons[0].Severity != c.want {
			t.Errorf("%s: %+v, want CPU_HIGH %s", name, r.ThreatReasons, c.want)
		}
	}
}
