// SPDX-License-Identifier: Apache-2.0

package localtime

import (
	"testing"
	"time"

	"sentinel/internal/testenv"
)

func TestZoneIsThatOfTheMachine(t *testing.T) {
	moment := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"east":    {map[string]string{"etc/localtime": testenv.TimeZone(3600, "CET")}, "2026-11-28 13:00 +0100 CET"},
		"none":    {nil, "2026-11-28 12:00 +0000 UTC"},
		"damaged": {map[string]string{"etc/localtime": "TZif"}, "2026-11-28 12:00 +0000 UTC"},
	} {
		t.Setenv("TZ", "America/New_York")
		if got := moment.In(Zone(testenv.Plant(t, c.files))).Format("2006-01-02 15:04 -0700 MST"); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
