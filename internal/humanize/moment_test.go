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
