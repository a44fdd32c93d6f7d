// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// Bounds of one call.
const (
	// DefaultRows is how many patterns or lines are shown where nothing else is asked for.
	DefaultRows = 40
	maxRows     = 1000
	maxLines    = 3_000_000
	maxBytes    = 1 << 30 // of the texts
	readLimit   = 25 * time.Second
)

// Lengths of texts in a document, in runes.
const (
	patternLength = 160
	sampleLength  = 240
	lineLength    = 400
	nameLength    = 60
)

// A Report is what the logs say.
type Report struct {
	Since string `json:"since"`          // RFC 3339, UTC
	Until string `json:"until"`          // RFC 3339, UTC
	Unit  string `json:"unit,omitempty"` // service that was asked for, with its whole name
	// LinesTotal counts the lines that match; absent where none was found and not everything could be read.
	LinesTotal *int `json:"lines_total,omitempty"`
	// ErrorsTotal counts those of priority err and worse; absent as lines_total is.
	ErrorsTotal *int `json:"errors_total,omitempty"`
	// Patterns are the lines that match, those that are equal but for numbers, addresses, ids, times and quoted values
	// as one: errors first, the most severe before others, then warnings and what tells of a failure, then both of users,
	// then by count; of one service or program five of each before others wait. Absent with raw.
	Patterns []Pattern `json:"patterns,omitempty" schema:"brief"`
	// PatternsTotal counts the patterns, also those that are not shown.
	PatternsTotal int `json:"patterns_total,omitempty"`
	// Lines are the newest lines in the order of their time, with raw.
	Lines     []Line `json:"lines,omitempty" schema:"brief"`
	Truncated bool   `json:"truncated"` // not everything that matches is in patterns or lines
	// OtherLines counts lines of patterns that came up so seldom that they were not kept.
	OtherLines int `json:"other_lines,omitempty"`
	// ReadFrom is the moment, RFC 3339 in UTC, from which on everything was read, where a bound kept older lines from being read.
	ReadFrom string `json:"read_from,omitempty"`
	// Boots counts the boots of the machine that the lines are of, where they are of several.
	Boots int `json:"boots,omitempty"`
	// BootedBefore is the time of the first line of the newest boot, RFC 3339 in UTC, with boots.
	BootedBefore string `json:"booted_before,omitempty"`
	Logs         []Log  `json:"logs"` // that were looked at
	// Unavailable says what was rotated away, not readable, or not read.
	Unavailable answer.Gaps `json:"unavailable"`
}

// A Pattern is lines that are equal but for what differs from one to the next.
type Pattern struct {
	Pattern  string `json:"pattern,omitempty"`  // with # for what differs; absent for a single line
	Count    int    `json:"count"`              // lines
	First    string `json:"first,omitempty"`    // RFC 3339, UTC; absent for a single line
	Last     string `json:"last"`               // RFC 3339, UTC
	Priority string `json:"priority,omitempty"` // the most severe: emerg, alert, crit, err, warning, notice, info, debug; absent if not recorded
	Unit     string `json:"unit,omitempty"`     // service that wrote it or that it is about
	Program  string `json:"program,omitempty"`  // that wrote it, by the name that it gives itself
	Sample   string `json:"sample"`             // the newest line, secrets redacted
}

// A Line is one line of a log.
type Line struct {
	Time     string `json:"time"`               // RFC 3339, UTC, with milliseconds
	Priority string `json:"priority,omitempty"` // as that of a pattern
	Unit     string `json:"unit,omitempty"`     // service that wrote it or that it is about
	Program  string `json:"program,omitempty"`  // that wrote it, by the name that it gives itself
	PID      int    `json:"pid,omitempty"`      // of the process that wrote it
	Text     string `json:"text"`               // secrets redacted
}

// Read answers a request. It fails with INVALID_ARGUMENT, or with what the source says of the unit.
func Read(ctx context.Context, source Source, r Request, now time.Time) (*Report, error) {
	s, err := r.selection(source, now)
	if err != nil {
		return nil, err
	}
	rows := r.Rows
	if rows <= 0 || rows > maxRows {
		rows = maxRows
	}
	c := &collector{text: []byte(strings.ToLower(r.Text)), boots: map[uint64]time.Time{}}
	if r.Raw {
		c.newest = &newest{limit: rows}
	} else {
		c.groups = newGrouper(maxPatterns)
	}
	bounded, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	coverage, err := source.Read(bounded, s, c.add)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	late := bounded.Err() != nil
	partly := late || c.full || coverage.Incomplete || c.tooLong > 0 && len(c.text) > 0
	report := &Report{Since: stamp(s.Since), Until: stamp(s.Until), Unit: s.Unit, LinesTotal: known(c.matching, partly), ErrorsTotal: known(c.errors, partly), Logs: coverage.Logs, Unavailable: answer.Gaps{}}
	c.complete(report, rows)
	report.missing(coverage, c, late)
	return report, nil
}

// A collector takes the entries that a source reads.
type collector struct {
	text     []byte // in lower case
	groups   *grouper
	newest   *newest
	seen     int
	size     int
	matching int
	errors   int                  // of these, with the priority of an error
	tooLong  int                  // of those seen, with a text that was not read
	full     bool                 // a bound was reached
	boots    map[uint64]time.Time // time of the oldest entry
	lower    []byte
}

// add takes an entry, and returns false once a bound is reached.
func (c *collector) add(e Entry) bool {
	c.seen++
	c.size += len(e.Text)
	if e.TooLong {
		c.tooLong++
	}
	if e.Boot != 0 {
		if first, ok := c.boots[e.Boot]; len(c.boots) < maxRows && (!ok || e.Time.Before(first)) {
			c.boots[e.Boot] = e.Time
		}
	}
	if c.matches(e) {
		c.matching++
		if e.Priority != NoPriority && e.Priority <= priorityError {
			c.errors++
		}
		if c.newest != nil {
			c.newest.add(e)
		} else {
			c.groups.add(e)
		}
	}
	c.full = c.seen >= maxLines || c.size >= maxBytes
	return !c.full
}

// matches looks for the text in what would be shown, so that nobody finds out a secret by asking for
// its letters one by one.
func (c *collector) matches(e Entry) bool {
	if len(c.text) == 0 {
		return true
	}
	if c.lower = appendLower(c.lower[:0], e.Text); e.TooLong || !bytes.Contains(c.lower, c.text) {
		return false
	}
	shown := sanitize.Line(string(e.Text), len(e.Text))
	return strings.Contains(strings.ToLower(shown), string(c.text))
}

// appendLower spares most lines the way through their runes.
func appendLower(out, text []byte) []byte {
	for _, c := range text {
		if c >= 0x80 {
			return append(out[:0], bytes.ToLower(text)...)
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return out
}

// known is a count, or nil for none where not everything was read.
func known(n int, partly bool) *int {
	if n == 0 && partly {
		return nil
	}
	return &n
}

// complete writes what was collected into the report.
func (c *collector) complete(r *Report, rows int) {
	if c.newest != nil {
		r.Lines = c.newest.lines()
		r.Truncated = len(r.Lines) < c.matching
	} else {
		list := c.groups.sorted()
		r.PatternsTotal = len(list) + c.groups.forgotten
		r.OtherLines = c.groups.other
		r.Patterns = []Pattern{}
		for _, t := range list[:min(len(list), rows)] {
			r.Patterns = append(r.Patterns, t.shown())
		}
		r.Truncated = len(r.Patterns) < r.PatternsTotal
	}
	if len(c.boots) > 1 {
		var last time.Time
		for _, first := range c.boots {
			if first.After(last) {
				last = first
			}
		}
		r.Boots, r.BootedBefore = len(c.boots), stamp(last)
	}
}

// shown makes a tally safe to show. Its pattern is that of the redacted line.
func (t *tally) shown() Pattern {
	p := Pattern{
		Count: t.count, Last: stamp(t.last), Priority: priorityName(t.priority), Unit: sanitize.Text(t.unit, nameLength), Program: programShown(t.program, t.unit),
	}
	line := strings.TrimSpace(t.sample)
	p.Sample = sanitize.Line(line, sampleLength)
	if t.count > 1 {
		p.First = stamp(t.first)
		p.Pattern = sanitize.Text(string(appendPattern(nil, []byte(sanitize.Line(cmp.Or(strings.TrimSpace(t.kind), line), maxPattern)))), patternLength)
	}
	if p.Pattern == p.Sample {
		p.Pattern = ""
	}
	return p
}

func priorityName(n int) string {
	if n < 0 || n >= len(Priorities) {
		return ""
	}
	return Priorities[n]
}

// programShown leaves out a program that has the name of its service.
func programShown(program, unit string) string {
	if strings.HasPrefix(unit, program+".") {
		return ""
	}
	return sanitize.Text(program, nameLength)
}

// missing says what was not read. What ended it at a bound is told once.
func (r *Report) missing(coverage Coverage, c *collector, late bool) {
	for _, g := range coverage.Gaps {
		r.Unavailable.Note(g.Log, g.Why)
	}
	if late || c.full {
		var from time.Time
		for _, l := range coverage.Logs {
			if l.Stopped && l.ReadBackTo.After(from) {
				from = l.ReadBackTo
			}
		}
		why := fmt.Sprintf("there is more than one call reads: the newest %d lines were read", c.seen)
		if late {
			why = fmt.Sprintf("reading took longer than %d s: the newest %d lines were read", int(readLimit.Seconds()), c.seen)
		}
		if !from.IsZero() {
			r.ReadFrom = stamp(from)
			why += ", from " + r.ReadFrom + " on"
		}
		r.Unavailable.Note("older lines", why+"; ask for a shorter time, a unit or a priority")
	}
	if c.tooLong > 0 {
		r.Unavailable.Note("texts", fmt.Sprintf("%d lines are too long to be read: they are counted and not shown, and no text is looked for in them", c.tooLong))
	}
	if c.groups != nil && c.groups.forgotten > 0 {
		r.Unavailable.Note("patterns", fmt.Sprintf("there are more than %d: %d lines of the least common ones are counted in other_lines, and counts of seldom ones are at least what they say", maxPatterns, c.groups.other))
	}
}
