// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"
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

// The average of five minutes is high for minutes after its cause is gone.
func TestLoadIsCriticalOnlyWhileItLasts(t *testing.T) {
	for name, c := range map[string]struct {
		percent, load1, waited *float64
		want, says             string
	}{
		"nothing else is known": {nil, nil, nil, Critical, "is 5.00 for each core."},
		"it goes on":            {new(100.0), new(24.0), nil, Critical, "is 5.00 for each core."},
		"it has ended":          {new(2.0), new(1.0), new(0.0), Warning, "; in the last minute it was 0.25."},
		"it has ended, and half a second is busy": {new(100.0), new(1.0), nil, Warning, "; in the last minute it was 0.25."},
		"tasks wait for a disk":                   {new(3.0), new(24.0), new(1.0), Warning, "; the processor is 3 % busy, so tasks wait for something else."},
		"tasks waited":                            {new(60.0), new(24.0), new(70.0), Critical, "is 5.00 for each core."},
	} {
		r := Report{CPU: &CPU{Percent: c.percent, Cores: 4, Load1: c.load1, Load5: new(20.0)}, Pressure: map[string]Pressure{"cpu": {SomeAvg60: c.waited}}}
		r.Judge(DefaultThresholds())
		i := slices.IndexFunc(r.ThreatReasons, func(reason Reason) bool { return reason.Code == "LOAD_HIGH" })
		if i < 0 || r.ThreatReasons[i].Severity != c.want || !strings.HasSuffix(r.ThreatReasons[i].Message, c.says) {
			t.Errorf("%s: %+v, want LOAD_HIGH %s that ends in %q", name, r.ThreatReasons, c.want, c.says)
		}
	}
}
