// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is the longest line in bytes that a client may send. Arguments are
// limited to ops.MaxRequest, which is far less; a longer line is a mistake or an attack.
const maxLine = 1 << 20

// errLineTooLong reports a line that was skipped.
var errLineTooLong = errors.New("the line is too long")

// lines splits a stream into lines of bounded length.
type lines struct {
	r *bufio.Reader
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next line, with its newline if it has one: the last line need
// not. For a line longer than maxLine it returns errLineTooLong after reading it to its end, so that
// the next call returns a whole line. At the end of the stream it returns [io.EOF].
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > maxLine+1 { // the end does not count
			return nil, l.skip(err)
		}
		line = append(line, part...)
		switch {
		case err == nil, !errors.Is(err, bufio.ErrBufferFull) && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// skip reads to the end of the line. err is that of the last read.
func (l *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	return errLineTooLong
}
