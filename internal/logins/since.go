// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// furthest is how far back anybody may ask: no log that is read reaches that far.
const furthest = 10 * 366 * 24 * time.Hour

var momentForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// ParseSince reads from when on logins are asked for: a time back (90m, 24h, 7d, also as -24h), a
// moment (RFC 3339, or without zone in that of this machine), today or yesterday. Anything else, the
// future and what lies more than ten years back are INVALID_ARGUMENT.
func ParseSince(text string, now time.Time) (time.Time, error) {
	since, ok := moment(strings.TrimSpace(text), now)
	switch {
	case !ok:
		return time.Time{}, wrongSince(text, "is not a time")
	case since.After(now):
		return time.Time{}, wrongSince(text, "lies in the future")
	case now.Sub(since) > furthest:
		return time.Time{}, wrongSince(text, "lies too far back")
	}
	return since, nil
}

func moment(text string, now time.Time) (time.Time, bool) {
	switch text {
	case "today":
		return midnight(now, 0), true
	case "yesterday":
		return midnight(now, 1), true
	}
	for _, form := range momentForms {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, true
		}
	}
	back, ok := length(strings.TrimPrefix(text, "-"))
	return now.Add(-back), ok
}

func midnight(now time.Time, daysBack int) time.Time {
	year, month, day := now.Date()
	return time.Date(year, month, day-daysBack, 0, 0, 0, 0, now.Location())
}

var lengths = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// length reads one whole number with its unit. What is longer than anybody may ask for is a little
// longer than that, so that it cannot overflow.
func length(text string) (time.Duration, bool) {
	if len(text) < 2 || len(text) > 12 {
		return 0, false
	}
	unit := lengths[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 63)
	if unit == 0 || err != nil {
		return 0, false
	}
	return time.Duration(min(n, uint64(furthest/unit)+1)) * unit, true
}

func wrongSince(text, what string) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("since %q %s.", sanitize.Text(text, 40), what)).
		WithFix("Send since as a time back such as 90m, 24h or 7d, as today or yesterday, or as a moment such as 2026-01-31 or 2026-01-31T14:00:00Z.")
}
