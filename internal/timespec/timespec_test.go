// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"strings"
	"testing"
	"time"
)

// here has summer time.
var here = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return time.FixedZone("CET", 3600)
	}
	return zone
}()

// now is a Wednesday.
var now = time.Date(2026, 3, 4, 5, 6, 7, 0, here)

var spellings = map[string]string{ // to RFC 3339 in UTC
	"now": "2026-03-04T04:06:07Z", "today": "2026-03-03T23:00:00Z", "Yesterday": "2026-03-02T23:00:00Z", "tomorrow": "2026-03-04T23:00:00Z",
	"yesterday 14:30": "2026-03-03T13:30:00Z", "today at 3:12": "2026-03-04T02:12:00Z", "yesterday at 9pm": "2026-03-03T20:00:00Z",
	"wednesday": "2026-03-03T23:00:00Z", "thu": "2026-02-25T23:00:00Z", "last monday": "2026-03-01T23:00:00Z",

	"-2h": "2026-03-04T02:06:07Z", "2h": "2026-03-04T02:06:07Z", "2 hours ago": "2026-03-04T02:06:07Z", "+1h": "2026-03-04T05:06:07Z", "-1d12h": "2026-03-02T16:06:07Z",
	"90 min ago": "2026-03-04T02:36:07Z", "1 day, 2 hours ago": "2026-03-03T02:06:07Z", "last hour": "2026-03-04T03:06:07Z", "past 3 days": "2026-03-01T04:06:07Z",
	"an hour ago": "2026-03-04T03:06:07Z", "-30s": "2026-03-04T04:05:37Z", "1w": "2026-02-25T04:06:07Z", "1 month": "2026-02-04T04:06:07Z", "2y": "2024-03-04T04:06:07Z", "-0s": "2026-03-04T04:06:07Z",

	"03:12": "2026-03-04T02:12:00Z", "23:59": "2026-03-03T22:59:00Z", "05:06:07": "2026-03-04T04:06:07Z", "3pm": "2026-03-03T14:00:00Z", "3:04 am": "2026-03-04T02:04:00Z",

	"2026-03-04": "2026-03-03T23:00:00Z", "2026-03-04 05:06": "2026-03-04T04:06:00Z", "2026-03-04T05:06:07": "2026-03-04T04:06:07Z", "2026-03-04t05:06:07z": "2026-03-04T05:06:07Z",
	"2026-03-04T05:06:07.123456+01:00": "2026-03-04T04:06:07.123456Z", "2026-03-04 05:06:07 UTC": "2026-03-04T05:06:07Z", "2026-03-04 05:06:07 +0000": "2026-03-04T05:06:07Z",
	"2026-03-04T05:06Z": "2026-03-04T05:06:00Z", "2026/03/04 05:06:07": "2026-03-04T04:06:07Z", "20260304": "2026-03-03T23:00:00Z", "9999-12-31": "9999-12-30T23:00:00Z",
	"Mar 4 05:06:07": "2026-03-04T04:06:07Z", "Mar  4": "2026-03-03T23:00:00Z", "Dec 24 18:00": "2025-12-24T17:00:00Z", "29 Feb": "2024-02-28T23:00:00Z", "4 Mar 2026": "2026-03-03T23:00:00Z",
	"04/Mar/2026:05:06:07 +0000": "2026-03-04T05:06:07Z", "Wed Mar  4 05:06:07 2026": "2026-03-04T04:06:07Z", "Wed, 04 Mar 2026 05:06:07 GMT": "2026-03-04T05:06:07Z",
	"2026-08-01 12:00": "2026-08-01T10:00:00Z", "-2h ago": "2026-03-04T02:06:07Z",

	"@1772600767": "2026-03-04T05:06:07Z", "1772600767": "2026-03-04T05:06:07Z", "1772600767123": "2026-03-04T05:06:07.123Z", "@1772600767.5": "2026-03-04T05:06:07.5Z", "@0": "1970-01-01T00:00:00Z",
}

func TestWhatIsNoDateIsNotWritten(t *testing.T) {
	for at, want := range map[time.Time]string{
		{}: "", now: "2026-03-04T04:06:07Z", time.Unix(1<<40, 0): "", time.Unix(-1<<40, 0): "", time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)): "",
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC): "9999-12-31T23:59:59Z", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC): "0000-01-01T00:00:00Z",
	} {
		if got := Format(at); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

func TestEverySpellingOfATime(t *testing.T) {
	for text, want := range spellings {
		got, err := Parse(text, now)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %s, %v; want %s", text, got.UTC().Format(time.RFC3339Nano), err, want)
		}
	}
}

func TestWhatIsNoTimeIsRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "-", "+", "--2h", "2", "h", "2x", "2h 3", "-2h ago at", "ago", "last", "last tuesdays", "soon", "yesterday 25:00", "today 3:99", "24:01", "13pm",
		"2026-13-01", "2026-02-30", "2026-03-04T", "26-03-04", "10000-01-01", "2026-03-04 05:06:07 PST", "@", "@-5", "@+5", "@1e9", "@1.x", "99999999999999", "0x10",
		"-999999999999999999999h", "-20000 years", "+9000y", "99999999d", "2026-03-04; rm", "$(date)", "now now", "\x002h", "٣h", strings.Repeat("1d", 40), "2026-03-04 05:06:07 -9999999",
	} {
		if got, err := Parse(text, now); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for text := range spellings {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text, now)
		if err != nil {
			return
		}
		if got.Year() < 1 || got.Year() > 9999 || len(text) > MaxLength {
			t.Errorf("%q is %s", text, got)
		}
		again, err := Parse(got.Format("2006-01-02T15:04:05.999999999Z07:00"), now)
		if got.Year() > 1900 && (err != nil || !again.Equal(got)) {
			t.Errorf("%q is %s, and that %s, %v", text, got, again, err)
		}
	})
}
