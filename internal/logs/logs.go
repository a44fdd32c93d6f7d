// SPDX-License-Identifier: Apache-2.0

// Package logs reads what programs have written to the logs of a machine, bounded in time, lines and
// bytes, and groups it: lines that are equal but for numbers, addresses, ids, times and quoted values
// are one pattern with a count and a sample.
package logs

import (
	"context"
	"slices"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/timespec"
)

// NoPriority is that of an entry whose priority is not recorded.
const NoPriority = -1

// Priorities are the names of syslog's severities, by their number (RFC 5424, table 2).
var Priorities = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}

const (
	priorityError   = 3
	priorityWarning = 4
)

// An Entry is one line of a log, as it was written: nothing of it is safe to show. Its texts are valid
// during the call that it is handed to.
type Entry struct {
	Time     time.Time
	Priority int    // 0 to 7, or NoPriority
	Unit     []byte // service that wrote it or that it is about; empty if unknown
	Program  []byte // name under which it was written, which is not told by anybody trustworthy
	PID      int    // 0 if unknown
	User     bool   // a person wrote it, or what runs for one, or it is about a process of theirs, as far as the system tells
	Boot     uint64 // the same for all entries of one boot; 0 if unknown
	Text     []byte
	Kind     []byte // text for its pattern, without what a user chose in it; empty where that is Text
	UnitKind []byte // unit for its pattern and its share of the rows, likewise; empty where that is Unit
	TooLong  bool   // the text was too long to be read; Text says so
}

// A Selection says which entries are wanted. The source leaves out the others, but for Text.
type Selection struct {
	Unit     string // as [Source].Unit returned it; empty for all
	Since    time.Time
	Until    time.Time // not before Since
	UntilNow bool      // what the journal has dated later counts, too: the clock was ahead when it was written
	Priority int       // this one and more severe ones, or NoPriority for all
}

// Includes reports whether an entry with that time and priority is selected.
func (s Selection) Includes(t time.Time, priority int) bool {
	return !t.Before(s.Since) && !t.After(s.Until) && (s.Priority == NoPriority || priority != NoPriority && priority <= s.Priority)
}

// A Source reads the logs of a machine.
type Source interface {
	// Unit completes and checks the name of a service as somebody typed it. What it returns is safe to
	// hand to another program.
	Unit(typed string) (string, error)
	// Read calls yield with the selected entries of each log, the newest first within it as far as
	// the log can be read so, and what users wrote last where it can be read apart, until yield returns false or ctx ends, neither of which is an error. It
	// returns the logs that it read, and what is missing in them.
	Read(ctx context.Context, s Selection, yield func(Entry) bool) (Coverage, error)
}

// Coverage is what was looked at.
type Coverage struct {
	Logs []Log
	Gaps []Gap
	// Incomplete says that something that was to be read was not, so that none is not zero.
	Incomplete bool
}

// A Log is one source of entries.
type Log struct {
	Name    string `json:"name"`              // "journal", "journal of users" where these are read apart, the path of a file, or what the system calls it
	Entries int    `json:"entries"`           // entries in it that match, before a text is looked for
	Oldest  string `json:"oldest,omitempty"`  // RFC 3339, UTC: what was written before is not in it; absent if that is not known
	Stopped bool   `json:"stopped,omitempty"` // it was not read to the beginning of the time asked for
	// ReadBackTo is the time from which on everything was read, as far as its dates tell; zero if that is not known.
	ReadBackTo time.Time `json:"-"`
}

// A Gap says what is missing of a log, and why.
type Gap struct{ Log, Why string }

// A Request is what somebody asks for.
type Request struct {
	Unit         string
	Since, Until string // empty for the usual ones
	Priority     string // one of Priorities, or empty for all
	Text         string // part of the line, whatever its case; empty for all
	Raw          bool   // lines instead of patterns
	Rows         int    // of patterns or lines; 0 means all that are kept
}

// How far back is looked where nothing else is asked for: the journal is indexed by unit.
const (
	usualSpan     = time.Hour
	usualUnitSpan = 24 * time.Hour
)

// selection checks the request.
func (r Request) selection(source Source, now time.Time) (s Selection, err error) {
	s = Selection{Until: now, UntilNow: true, Priority: slices.Index(Priorities, r.Priority)} // none is NoPriority
	span := usualSpan
	if r.Unit != "" {
		span = usualUnitSpan
		if s.Unit, err = source.Unit(r.Unit); err != nil {
			return s, err
		}
	}
	if r.Until != "" {
		if s.Until, err = moment("until", r.Until, now); err != nil {
			return s, err
		}
		s.UntilNow = !s.Until.Before(now)
	}
	if s.Until.After(now) {
		s.Until = now
	}
	s.Since = s.Until.Add(-span)
	if r.Since != "" {
		if s.Since, err = moment("since", r.Since, now); err != nil {
			return s, err
		}
	}
	switch {
	case s.Since.After(now):
		return s, invalid("since lies in the future: " + stamp(s.Since) + " is after " + stamp(now) + ", the time of this machine.")
	case s.Since.After(s.Until):
		return s, invalid("since is after until: " + stamp(s.Since) + " and " + stamp(s.Until) + ".")
	}
	return s, nil
}

func moment(name, text string, now time.Time) (time.Time, error) {
	t, err := timespec.Parse(text, now)
	if err != nil {
		return t, invalid(name + " is not understood: " + err.Error() + ".")
	}
	return t, nil
}

func invalid(message string) error {
	return fault.New(fault.InvalidArgument, message).WithFix("Send a time that has been, such as " + timespec.Examples + ".")
}

// Form checks the form of a request.
func (r Request) Form(source Source, now time.Time) error {
	_, err := r.selection(source, now)
	return err
}

// stamp is a moment as documents have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
