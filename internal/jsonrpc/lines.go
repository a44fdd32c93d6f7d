// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong reports a line that is longer than its reader allows.
var ErrTooLong = errors.New("the line is too long")

// Lines splits a stream into lines of bounded length. Only LF ends a line, with
// or without a CR before it: U+2028 and U+0085 are text.
type Lines struct {
	r    *bufio.Reader
	most int
	tail []byte // of the line that was skipped last
}

// maxPart is how much of a line is read at once, in bytes, and how much is returned of one that is
// too long.
const maxPart = 64 << 10

// NewLines returns a reader of the lines of r, each of at most most bytes
// without its end.
func NewLines(r io.Reader, most int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, maxPart), most: most}
}

// Next returns the next line with its end, as it came; the last line need have
// none. The line belongs to the caller. Of a line that is too long it returns the beginning, from
// which its sender may be told, with ErrTooLong: at most 64 KiB. The rest is skipped, and the next
// call returns a whole line. At the end of the stream it returns [io.EOF].
func (l *Lines) Next() ([]byte, error) {
	var parts [][]byte // put together once: a line that grows would be copied again and again
	size := 0
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && parts == nil && len(withoutEnd(part)) <= l.most {
			return bytes.Clone(part), nil
		}
		if size+len(withoutEnd(part)) > l.most {
			return l.tooLong(parts, part, err)
		}
		parts = append(parts, bytes.Clone(part))
		size += len(part)
		switch {
		case err == nil, !errors.Is(err, bufio.ErrBufferFull) && size > 0:
			return joined(parts), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// tooLong skips a line that begins with parts, and of which part was read last, with err. It returns
// the beginning.
func (l *Lines) tooLong(parts [][]byte, part []byte, err error) ([]byte, error) {
	l.tail = nil
	if parts == nil {
		return bytes.Clone(part[:l.most]), l.skip(part, err)
	}
	l.tail = lastBytes(nil, parts[len(parts)-1]) // the end may begin there
	return parts[0], l.skip(part, err)
}

func joined(parts [][]byte) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, nil)
}

func withoutEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// More says that the next line is there already, so that Next will not wait for it.
func (l *Lines) More() bool {
	ahead, err := l.r.Peek(l.r.Buffered())
	return err == nil && bytes.IndexByte(ahead, '\n') >= 0
}

// maxTail is how much of the end of a line that is skipped is kept, in bytes.
const maxTail = 512

// Tail returns the end of the line that was skipped last, up to the next call of Next.
func (l *Lines) Tail() []byte { return l.tail }

// skip reads to the end of the line, of which part was read last, with err, and tail before it.
func (l *Lines) skip(part []byte, err error) error {
	l.tail = lastBytes(l.tail, part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.r.ReadSlice('\n')
		l.tail = lastBytes(l.tail, part)
	}
	l.tail = withoutEnd(l.tail)
	return ErrTooLong
}

func lastBytes(old, part []byte) []byte {
	all := append(old, part[max(0, len(part)-maxTail):]...)
	return append(all[:0], all[max(0, len(all)-maxTail):]...)
}

// Blank says that a line holds nothing but blanks, as some senders write between
// messages.
func Blank(line []byte) bool {
	for _, c := range line {
		if !blank(c) {
			return false
		}
	}
	return true
}

// blank says that c may stand between the tokens of JSON (RFC 8259, section 2).
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
