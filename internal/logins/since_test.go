// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"testing"
	"time"

	"sentinel/internal/fault"
)

// epoch is the time of the tests.
var epoch = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestSinceInEverySpelling(t *testing.T) {
	for text, want := range map[string]string{
		"24h": "2026-11-22T12:00:00Z", "-2h": "2026-11-23T10:00:00Z", "90m": "2026-11-23T10:30:00Z", "7d": "2026-11-16T12:00:00Z", " 1w ": "2026-11-16T12:00:00Z",
		"today": "2026-11-23T00:00:00Z", "yesterday": "2026-11-22T00:00:00Z", "2026-11-20": "2026-11-20T00:00:00Z", "2026-11-20 08:15": "2026-11-20T08:15:00Z",
		"2026-11-20T08:15:30": "2026-11-20T08:15:30Z", "2026-11-20T08:15:30+02:00": "2026-11-20T06:15:30Z", "0s": "2026-11-23T12:00:00Z", "": "2026-11-22T12:00:00Z",
	} {
		got, err := ParseSince(text, epoch)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"-", "h", "--since", "tomorrow", "2027-01-01", "9999-12-31", "9999-12-31T23:59:59Z", "1901-01-01", "99999999999d", "999999999999999999h",
		"−2h", "2026-13-01", "24h; id", "\x00",
	} {
		if got, err := ParseSince(text, epoch); err == nil || fault.From(err).Code != fault.InvalidArgument || fault.From(err).Fix == "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
