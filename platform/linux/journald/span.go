// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"io/fs"
	"time"
)

// Edge is how far apart the journal and a file of syslog may put one line: files have seconds, and
// whoever forwards the line stamps it before the journal or after it.
const Edge = 2 * time.Second

// A Span is the time of which a journal tells; zero times are not known.
type Span struct {
	Begins time.Time // oldest entry of the system
	Ends   time.Time // newest entry of the system or of a user
}

// Lacks reports whether the journal has nothing of a moment because it begins later or has ended
// before: what a file of syslog has of it is told nowhere else.
func (s Span) Lacks(at time.Time) bool {
	if s == (Span{}) { // it has no entry yet
		return true
	}
	return at.Before(s.Begins.Add(-Edge)) || !s.Ends.IsZero() && at.After(s.Ends.Add(Edge))
}

// Span reads the headers of the files. The error is fs.ErrNotExist where the machine has none, and
// fs.ErrPermission where this user may not read those of the system.
func (j Journal) Span() (s Span, err error) {
	headers, err := j.headers()
	found := false
	for _, h := range headers {
		found = found || h.system()
		if first, ok := h.stamp(headAt); ok && h.system() && (s.Begins.IsZero() || first.Before(s.Begins)) {
			s.Begins = first
		}
		if last, ok := h.stamp(tailAt); ok && last.After(s.Ends) {
			s.Ends = last
		}
	}
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	return s, err
}
