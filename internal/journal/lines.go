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

// backwards yields the lines of the segments, newest first, without their ends. What
// stands behind the last line end is left out; a line that is too long comes in pieces,
// none of which is a record. It holds a chunk and a line in memory.
func backwards(segments []*segment) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, s := range slices.Backward(segments) {
			if err := s.open(os.O_RDONLY); err != nil {
				yield(nil, err)
				return
			}
			lines := upwards{file: s.file, start: s.size, fresh: true}
			_, err := lines.next() // what is behind the last line end
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

// upwards reads the lines of one file from its end.
type upwards struct {
	file  io.ReaderAt
	start int64  // of read in the file
	read  []byte // what is not yet returned
	fresh bool   // nothing was read yet
	done  bool
}

func (u *upwards) next() ([]byte, error) {
	for {
		if i := bytes.LastIndexByte(u.read, '\n'); i >= 0 {
			line := u.read[i+1:]
			u.read = u.read[:i]
			return line, nil
		}
		switch {
		case u.done:
			return nil, io.EOF
		case u.start == 0:
			u.done = true
			return u.read, nil
		case len(u.read) > maxLine:
			piece := u.read
			u.read = nil
			return piece, nil
		}
		if err := u.more(); err != nil {
			return nil, err
		}
	}
}

// more reads the chunk before what was read. The very last may be shorter than it
// was when its size was taken: a writer has mended what a crash left there.
func (u *upwards) more() error {
	joined := make([]byte, min(chunk, u.start), min(chunk, u.start)+int64(len(u.read)))
	at := u.start - int64(len(joined))
	n, err := u.file.ReadAt(joined, at)
	if errors.Is(err, io.EOF) && u.fresh {
		joined, err = joined[:n], nil
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	u.read, u.start, u.fresh = append(joined, u.read...), at, false
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
