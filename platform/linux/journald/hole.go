// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"sentinel/internal/sanitize"
)

// A Hole is a time of which the journal has lost entries of the system, though it has older and newer
// ones, or has some under another date.
type Hole struct {
	From, To time.Time // zero is not known: since ever, until now
	File     string    // that is damaged; empty where one is gone
	SetBack  bool      // nothing is lost: the clock was set back, and there are two files of this time

	begins time.Time // of these two
}

// String says what is missing.
func (h Hole) String() string {
	text := "entries"
	if !h.From.IsZero() {
		text += " from " + h.From.UTC().Format(time.RFC3339)
	}
	if !h.To.IsZero() {
		text += " until " + h.To.UTC().Format(time.RFC3339)
	}
	if h.SetBack {
		return text + " may be dated wrong, and missing for it: the clock of this machine was set back, or was behind for a while"
	}
	if h.File == "" {
		return text + " are missing: a file of it was removed or lost"
	}
	return text + " are missing, or some of them: " + sanitize.Text(h.File, 120) + " is damaged"
}

// Holes lists those that touch the time from since until until. journalctl says of a damaged file only
// its name, or nothing, and of one that is gone nothing. What is damaged in the middle of a file is not found.
func (j Journal) Holes(since, until time.Time) []Hole {
	headers, err := j.headers()
	if err != nil {
		return nil
	}
	holes := damaged(headers)
	for _, h := range gone(headers) {
		if !slices.ContainsFunc(holes, func(known Hole) bool { return known.touches(h.From, h.To) }) {
			holes = append(holes, h)
		}
	}
	holes = append(holes, setBack(headers)...)
	return slices.DeleteFunc(holes, func(h Hole) bool { return !h.touches(since, until) })
}

// touches takes the zero time for an end that is now.
func (h Hole) touches(since, until time.Time) bool {
	return (h.To.IsZero() || h.To.After(since)) && (until.IsZero() || h.From.Before(until))
}

// setBack finds the times of which there are two files of the system: journald begins a file wherever the clock is
// behind the last entry (server_process_entry and journal_file_open of systemd), and writes to one at a time.
func setBack(headers []header) (holes []Hole) {
	var files []Hole
	for _, h := range headers {
		begins, ok := h.stamp(headAt)
		if ends, ended := h.stamp(tailAt); ok && ended && h.system() && h.whole() {
			files = append(files, Hole{From: begins, To: ends})
		}
	}
	slices.SortFunc(files, func(a, b Hole) int { return a.From.Compare(b.From) })
	var longest Hole
	for _, file := range files {
		to := file.To
		if longest.To.Before(to) {
			to = longest.To
		}
		if to.Sub(file.From) > Edge {
			holes = append(holes, Hole{From: file.From, To: to, SetBack: true, begins: longest.From})
		}
		if file.To.After(longest.To) {
			longest = file
		}
	}
	return holes
}

// back returns since when journalctl has to read for all entries since a time: it follows the order in which they
// were written, and ends at the first one that is older.
func (j Journal) back(since, until time.Time) time.Time {
	headers, err := j.headers()
	if err != nil {
		return since
	}
	from := since
	for _, h := range setBack(headers) {
		if h.touches(since, until) && h.begins.Before(from) {
			from = h.begins
		}
	}
	return from
}

// damaged finds the files of the system that are no journals, or shorter than they say.
func damaged(headers []header) (holes []Hole) {
	for _, h := range headers {
		if !h.system() || h.whole() {
			continue
		}
		hole := Hole{File: h.name}
		first, begun := h.stamp(headAt)
		last, ended := h.stamp(tailAt)
		at, known := h.named()
		switch {
		case begun && ended:
			hole.From, hole.To = first, last
		case known:
			hole.From, hole.To = around(headers, at)
		default:
			continue // another program's
		}
		holes = append(holes, hole)
	}
	return holes
}

// around returns when the last file before a moment ends, and when the first one after it begins. The zero
// time is now.
func around(headers []header, at time.Time) (from, to time.Time) {
	for _, h := range headers {
		if !h.system() || !h.whole() {
			continue
		}
		if ends, ok := h.stamp(tailAt); ok && (at.IsZero() || !ends.After(at)) && ends.After(from) {
			from = ends
		}
		if begins, ok := h.stamp(headAt); ok && !at.IsZero() && !begins.Before(at) && (to.IsZero() || begins.Before(to)) {
			to = begins
		}
	}
	return from, to
}

// gone finds where the numbers of entries jump from one file of the system to the next, and no file has
// the numbers between. Files that do not go on with the numbers of others have another seqnum_id.
func gone(headers []header) (holes []Hole) {
	var numbered []header
	for _, h := range headers {
		if h.raw == nil { // a user's file, which this one may not read
			return nil
		}
		if h.whole() && h.number(headSeqnumAt) > 0 {
			numbered = append(numbered, h)
		}
	}
	slices.SortFunc(numbered, func(a, b header) int { return cmp.Compare(a.number(headSeqnumAt), b.number(headSeqnumAt)) })
	for i, h := range numbered {
		if !h.system() {
			continue
		}
		next := slices.IndexFunc(numbered[i+1:], func(o header) bool {
			return o.system() && bytes.Equal(o.raw[seqnumIDAt:headerSizeAt], h.raw[seqnumIDAt:headerSizeAt])
		})
		if next < 0 {
			continue
		}
		after := numbered[i+1+next]
		from, _ := h.stamp(tailAt)
		to, _ := after.stamp(headAt)
		hole := Hole{From: from, To: to}
		if covered := reach(numbered, hole, h.number(tailSeqnumAt)); covered+1 < after.number(headSeqnumAt) && from.Before(to) {
			holes = append(holes, hole)
		}
	}
	return holes
}

// reach returns the last number up to which the files that were written to during a hole have all entries, from
// a number on. They are in the order of their first numbers.
func reach(numbered []header, hole Hole, last uint64) uint64 {
	for _, h := range numbered {
		begins, _ := h.stamp(headAt)
		ends, _ := h.stamp(tailAt)
		if h.number(headSeqnumAt) <= last+1 && begins.Before(hole.To) && ends.After(hole.From) {
			last = max(last, h.number(tailSeqnumAt))
		}
	}
	return last
}
