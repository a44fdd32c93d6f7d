// SPDX-License-Identifier: Apache-2.0

package humanize

import (
	"testing"
	"time"
)

func TestAMomentIsLocalAndSaysItsOffset(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.FixedZone("IST", 19800)
	if got := Moment(time.Date(2026, 12, 31, 20, 0, 1, 0, time.UTC)); got != "2027-01-01 01:30 +05:30" {
		t.Errorf("%q", got)
	}
}

func TestPartsOfProcessors(t *testing.T) {
	for n, want := range map[float64]string{0.5: "0.5 processors", 1: "1 processor", 1.0001: "1 processor", 1.5: "1.5 processors", 2: "2 processors", 128: "128 processors"} {
		if got := Processors(n); got != want {
			t.Errorf("%g: %q, want %q", n, got, want)
		}
	}
}
