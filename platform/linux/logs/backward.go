// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	blockSize = 64 << 10
	// maxLine bounds how much of a line is kept, in bytes.
	maxLine = 64 << 10
)

// errShrunk reports that a file became shorter while it was read.
var errShrunk = errors.New("it became shorter while it was read")

// backward calls yield with the lines of the first size bytes of a file, the last one first, until yield
// returns false. What is appended meanwhile is left out. Of a longer line than maxLine the beginning is kept. A
// line is valid until the next call.
func backward(ctx context.Context, file io.ReaderAt, size int64, yield func(line []byte) bool) error {
	block := make([]byte, blockSize)
	var tail []byte // the rest of a line that begins in an earlier block
	for first := true; size > 0; first = false {
		if err := ctx.Err(); err != nil {
			return nil //nolint:nilerr // the end of ctx is no error of the file
		}
		n := min(int64(len(block)), size)
		size -= n
		read, err := file.ReadAt(block[:n], size)
		if int64(read) < n {
			if err == nil || errors.Is(err, io.EOF) {
				err = errShrunk
			}
			return err
		}
		part := block[:n]
		if first {
			part = bytes.TrimSuffix(part, []byte("\n"))
		}
		for {
			i := bytes.LastIndexByte(part, '\n')
			if i < 0 {
				tail = joined(part, tail)
				break
			}
			line := part[i+1:]
			if len(tail) > 0 {
				tail = joined(line, tail)
				line = tail
			}
			if !yield(line) {
				return nil
			}
			tail, part = tail[:0], part[:i]
		}
	}
	if len(tail) > 0 {
		yield(tail)
	}
	return nil
}

// joined puts a part of a line before the rest of it.
func joined(part, rest []byte) []byte {
	part = part[:min(len(part), maxLine)]
	rest = rest[:min(len(rest), maxLine-len(part))]
	return append(append(make([]byte, 0, len(part)+len(rest)), part...), rest...)
}

// forward calls yield with the lines of a stream, the first one first, within limit bytes. It reports
// whether there was more.
func forward(ctx context.Context, stream io.Reader, limit int64, yield func(line []byte) bool) (more bool, err error) {
	bounded := &io.LimitedReader{R: stream, N: limit}
	r := bufio.NewReaderSize(bounded, maxLine)
	long := false
	for ctx.Err() == nil {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 && !long && !yield(bytes.TrimSuffix(line, []byte("\n"))) {
			return true, nil
		}
		long = errors.Is(err, bufio.ErrBufferFull)
		switch {
		case err == nil || long:
		case errors.Is(err, io.EOF):
			return bounded.N <= 0, nil
		default:
			return true, err
		}
	}
	return true, nil
}
