// SPDX-License-Identifier: Apache-2.0

package sysexec

import "bytes"

// Bounds of what is told of a stream while its program runs: the longest line
// in bytes, and the lines that may wait to be told.
const (
	maxLine    = 256
	maxWaiting = 16
)

// lineWriter keeps a stream as capped does, and tells its lines as they come. The
// telling has a goroutine of its own and never holds the program up: when it falls
// behind, the oldest lines are left out.
type lineWriter struct {
	kept    *capped
	waiting chan string
	partial []byte
	long    bool // the line that has begun is left out
}

func newLineWriter(kept *capped, tell func(line string)) *lineWriter {
	s := &lineWriter{kept: kept, waiting: make(chan string, maxWaiting)}
	go func() {
		for line := range s.waiting {
			tell(line)
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
		s.queue(string(s.partial))
	}
	s.partial, s.long = s.partial[:0], false
}

func (s *lineWriter) queue(line string) {
	for {
		select {
		case s.waiting <- line:
			return
		default:
		}
		select {
		case <-s.waiting:
		default:
		}
	}
}

// close says that no more is written. A last line without an end is not told:
// who was killed while writing it may have meant another.
func (s *lineWriter) close() { close(s.waiting) }
