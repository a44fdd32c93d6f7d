// SPDX-License-Identifier: Apache-2.0

package logs

import "time"

// An order finds lines that are dated before the time asked for, and yet stand behind one that is not.
type order struct {
	behind     int  // too old, and read from the end since the last that is not
	outOfOrder int  // found
	forward    bool // this file is read from its beginning
	begun      bool // and had a line that is not too old
}

// next is for the next file. What is behind may stand behind lines of that one.
func (o order) next(forward bool) order {
	return order{behind: o.behind, outOfOrder: o.outOfOrder, forward: forward}
}

// take takes the next line.
func (o *order) take(old bool) {
	switch {
	case !old:
		o.outOfOrder, o.behind, o.begun = o.outOfOrder+o.behind, 0, true
	case !o.forward:
		o.behind++
	case o.begun:
		o.outOfOrder++
	}
}

// backLines is how many lines at least tell how far back a log was read.
const backLines = 500

// A back follows how far back a log is read from its end: to the latest date among the last lines, since the
// very last may have any.
type back struct {
	now, before time.Time // latest of these lines, and of as many before them
	lines       int
}

func (b *back) add(t time.Time) {
	if b.lines == backLines {
		b.now, b.before, b.lines = time.Time{}, b.now, 0
	}
	b.lines++
	if t.After(b.now) {
		b.now = t
	}
}

// from is zero where nothing was read.
func (b *back) from() time.Time {
	if b.before.After(b.now) {
		return b.before
	}
	return b.now
}
