// SPDX-License-Identifier: Apache-2.0

package sysexec

import "bytes"

// Lines cuts what a program prints into lines, as it arrives.
type Lines struct {
	Longest int // bytes of a line that are kept
	// Line is called with each line without its newline, which is its own only during the call; cut says
	// that there was more of it. It returns false once no more are wanted.
	Line func(line []byte, cut bool) bool

	partial []byte // the beginning of a line whose end has not come
	cut     bool
	done    bool
}

// Add takes the next piece, as [Command] has it for OnStdout. It is false once no more are wanted.
func (l *Lines) Add(piece []byte) bool {
	for len(piece) > 0 && !l.done {
		line, rest, ended := bytes.Cut(piece, []byte("\n"))
		piece = rest
		if !ended || len(l.partial) > 0 || len(line) > l.Longest {
			line = l.keep(line)
		}
		if ended {
			l.hand(line)
		}
	}
	return !l.done
}

// End hands on a last line that has no end.
func (l *Lines) End() {
	if len(l.partial) > 0 && !l.done {
		l.hand(l.partial)
	}
}

// keep adds to the line that has begun, and returns it.
func (l *Lines) keep(part []byte) []byte {
	room := min(len(part), l.Longest-len(l.partial))
	l.partial, l.cut = append(l.partial, part[:room]...), l.cut || room < len(part)
	return l.partial
}

func (l *Lines) hand(line []byte) {
	l.done = !l.Line(line, l.cut)
	l.partial, l.cut = l.partial[:0], false
}
