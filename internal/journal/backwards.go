// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// chunk is how much of a file is read at once, in bytes.
const chunk = 64 << 10

// backwards yields the lines of the segments, newest first, without newlines. It
// skips what follows the last newline and yields an overlong line in pieces, none of which is a
// record. It holds one chunk and one line in memory.
func backwards(segments []*segment) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, s := range slices.Backward(segments) {
			if err := s.open(os.O_RDONLY); err != nil {
				yield(nil, err)
				return
			}
			lines := reverseReader{file: s.file, start: s.size, fresh: true}
			_, err := lines.next() // what follows the last newline
			for err == nil {
				var line []byte
				if line, err = lines.next(); err == nil && !yield(line, nil) {
					return
				}
			}
			if !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
		}
	}
}

// A reverseReader reads the lines of a file from its end.
type reverseReader struct {
	file   io.ReaderAt
	start  int64  // offset of unread in the file
	unread []byte // what was read and not yet returned
	fresh  bool   // nothing was read yet
	done   bool
}

func (r *reverseReader) next() ([]byte, error) {
	for {
		if i := bytes.LastIndexByte(r.unread, '\n'); i >= 0 {
			line := r.unread[i+1:]
			r.unread = r.unread[:i]
			return line, nil
		}
		switch {
		case r.done:
			return nil, io.EOF
		case r.start == 0:
			r.done = true
			return r.unread, nil
		case len(r.unread) > maxLine:
			piece := r.unread
			r.unread = nil
			return piece, nil
		}
		if err := r.readChunk(); err != nil {
			return nil, err
		}
	}
}

// readChunk reads the chunk before those already read. The file may be shorter
// than when its size was taken, because a writer has truncated a partial line since.
func (r *reverseReader) readChunk() error {
	joined := make([]byte, min(chunk, r.start), min(chunk, r.start)+int64(len(r.unread)))
	at := r.start - int64(len(joined))
	n, err := r.file.ReadAt(joined, at)
	if errors.Is(err, io.EOF) && r.fresh {
		joined, err = joined[:n], nil
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	r.unread, r.start, r.fresh = append(joined, r.unread...), at, false
	return err
}

// firstRecord reads the first line of a segment.
func firstRecord(s *segment) (Record, error) {
	if err := s.open(os.O_RDONLY); err != nil {
		return Record{}, err
	}
	raw := make([]byte, maxLine)
	n, err := s.file.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Record{}, err
	}
	line, _, ended := bytes.Cut(raw[:n], []byte("\n"))
	if !ended {
		return Record{}, errNoRecord
	}
	return parseLine(line)
}
