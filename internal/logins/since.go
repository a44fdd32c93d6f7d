// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/timespec"
)

const (
	// usual is how far back an answer reaches unless it is asked for more.
	usual = 24 * time.Hour
	// furthest is how far back anybody may ask: no log that is read reaches that far.
	furthest = 10 * 366 * 24 * time.Hour
)

// ParseSince reads from when on logins are asked for, as [timespec.Parse] does; an empty text is the
// last day. What is no time, the future and what lies more than ten years back are INVALID_ARGUMENT.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now.Add(-usual), nil
	}
	since, err := timespec.Parse(text, now)
	switch {
	case err != nil:
		return time.Time{}, wrongSince("is not understood: " + err.Error())
	case since.After(now):
		return time.Time{}, wrongSince("lies in the future")
	case now.Sub(since) > furthest:
		return time.Time{}, wrongSince("lies too far back")
	}
	return since, nil
}

func wrongSince(what string) error {
	return fault.New(fault.InvalidArgument, "since "+what+".").WithFix("Send a time that has been, such as " + timespec.Examples + ".")
}
