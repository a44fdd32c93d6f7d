// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/timespec"
)

// A Request is what is asked for, as it was typed; empty texts are the defaults.
type Request struct {
	At, Since, Until string
	Figure           string // one of [Keys]
}

// Spans of time that are told of: without a time, and on either side of a moment.
const (
	usualSpan = 24 * time.Hour
	around    = 30 * time.Minute
)

// Span returns the ends of the time that is asked for.
func (r Request) Span(now time.Time) (since, until time.Time, err error) {
	since, until = now.Add(-usualSpan), now
	if r.At != "" {
		if r.Since != "" || r.Until != "" {
			return since, until, fault.New(fault.InvalidArgument, "at is a moment, and since and until are the ends of a span.").
				WithFix("Send at alone, or since and until without it.")
		}
		at, err := moment("at", r.At, now)
		return at.Add(-around), earlier(at.Add(around), now), err
	}
	if r.Until != "" {
		if until, err = moment("until", r.Until, now); err != nil {
			return since, until, err
		}
		until = earlier(until, now)
		since = until.Add(-usualSpan)
	}
	if r.Since != "" {
		if since, err = moment("since", r.Since, now); err != nil {
			return since, until, err
		}
	}
	if !since.Before(until) {
		return since, until, invalid("since is not before until: " + stamp(since) + " and " + stamp(until) + ".")
	}
	return since, until, nil
}

// moment reads a time that has been. The end of a span may lie ahead.
func moment(name, text string, now time.Time) (time.Time, error) {
	t, err := timespec.Parse(text, now)
	switch {
	case err != nil:
		return t, invalid(name + " is not understood: " + err.Error() + ".")
	case name != "until" && t.After(now):
		return t, invalid(name + " lies in the future: " + stamp(t) + " is after " + stamp(now) + ", the time of this machine.")
	}
	return t, nil
}

func invalid(message string) error {
	return fault.New(fault.InvalidArgument, message).WithFix("Send a time that has been, such as " + timespec.Examples + ".")
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
