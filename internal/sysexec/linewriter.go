// SPDX-License-Identifier: Apache-2.0

package sysexec

import "bytes"

// Bounds of the lines that are passed on while a program runs: the longest in
// bytes, and how many may be queued.
const (
	maxLine   = 256
	maxQueued = 16
)

// lineWriter keeps a stream as capped does, and calls a function with its lines as they arrive. The
// function runs in its own goroutine and never blocks the program: if it falls behind, the oldest
// lines are dropped.
type lineWriter struct {
	kept    *capped
	queued  chan string
	partial []byte
	long    bool // the current line is too long and is skipped
}

func newLineWriter(kept *capped, f func(line string)) *lineWriter {
	s := &lineWriter{kept: kept, queued: make(chan string, maxQueued)}
	go func() {
		for line := range s.queued {
			f(line)
		}
	}()
	return s
}

// Write implements [io.Writer].
func (s *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		s.add(line)
		if ended {
			s.end()
		}
		rest = after
	}
	return s.kept.Write(p)
}

func (s *lineWriter) add(part []byte) {
	if s.long = s.long || len(s.partial)+len(part) > maxLine; !s.long {
		s.partial = append(s.partial, part...)
	}
}

func (s *lineWriter) end() {
	if !s.long {
		s.enqueue(string(s.partial))
	}
	s.partial, s.long = s.partial[:0], false
}

func (s *lineWriter) enqueue(line string) {
	for {
		select {
		case s.queued <- line:
			return
		default:
		}
		select {
		case <-s.queued:
		default:
		}
	}
}

// close ends the lines. A last line without a newline is dropped: the program may have been killed
// while writing it.
func (s *lineWriter) close() { close(s.queued) }
