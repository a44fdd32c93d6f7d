// SPDX-License-Identifier: Apache-2.0

package sysexec

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
	kept   *capped
	queued chan string
	lines  Lines
}

func newLineWriter(kept *capped, f func(line string)) *lineWriter {
	s := &lineWriter{kept: kept, queued: make(chan string, maxQueued)}
	s.lines = Lines{Longest: maxLine, Line: s.line}
	go func() {
		for line := range s.queued {
			f(line)
		}
	}()
	return s
}

// Write implements [io.Writer].
func (s *lineWriter) Write(p []byte) (int, error) {
	s.lines.Add(p)
	return s.kept.Write(p)
}

// line queues a line, unless it is too long.
func (s *lineWriter) line(line []byte, cut bool) bool {
	if !cut {
		s.enqueue(string(line))
	}
	return true
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
