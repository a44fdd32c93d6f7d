// SPDX-License-Identifier: Apache-2.0

package journal

import "bytes"

// tailSize is enough to hold the newest record and a partial line behind it.
const tailSize = 3 * maxLine

// A tail is the end of a file.
type tail struct {
	last  Record // the newest intact record; Seq is 0 if there is none
	rest  []byte // the bytes after it
	at    int64  // offset of rest
	whole bool   // the tail is the whole file
}

func readTail(s *segment) (tail, error) {
	at := max(0, s.size-tailSize)
	raw := make([]byte, s.size-at)
	if _, err := s.file.ReadAt(raw, at); err != nil {
		return tail{}, err
	}
	return parseTail(raw, at), nil
}

// parseTail finds the newest record in raw, the end of a file from the offset at
// on.
func parseTail(raw []byte, at int64) tail {
	t := tail{rest: raw, at: at, whole: at == 0}
	for end := bytes.LastIndexByte(raw, '\n'); end >= 0; {
		begin := bytes.LastIndexByte(raw[:end], '\n') + 1
		r, err := parseLine(raw[begin:end])
		if err == nil {
			t.last, t.rest, t.at = r, raw[end+1:], at+int64(end)+1
			return t
		}
		end = begin - 1
	}
	return t
}
