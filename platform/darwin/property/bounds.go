// SPDX-License-Identifier: Apache-2.0

package property

import (
	"bytes"
	"encoding/xml"
	"errors"
)

// maxDepth is how many lists and dictionaries may stand within each other. The
// deepest of macOS have about twenty levels.
const maxDepth = 200

// Errors of lists that nobody means well by: the library would take minutes, or
// all memory, to decode them.
var (
	errDepth   = errors.New("the property list is nested too deeply")
	errExpands = errors.New("the property list holds more than fits into it")
	errBinary  = errors.New("the binary property list is damaged")
)

// bounded checks a list before it is decoded. Any user can write property lists
// that root reads.
func bounded(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("bplist")) {
		return boundedBinary(raw)
	}
	depth := 0
	for decoder := xml.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := decoder.RawToken()
		if err != nil {
			return nil //nolint:nilerr // the end, or an error that the library meets as well
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxDepth {
			return errDepth
		}
	}
}

// trailer is how long the end of a binary list is.
const trailer = 32

// A binaryList is a list in the form of CFBinaryPList.c of CoreFoundation: objects, a
// table of their offsets, and a trailer. Lists and dictionaries name their members by number,
// so that one object can be a member of many, and a hundred bytes unfold to gigabytes.
type binaryList struct {
	raw                 []byte
	offsetSize, refSize uint64
	objects, table      uint64
	content             uint64            // bytes of texts and references that were seen
	seen                map[uint64]extent // of each object, once it is known
}

// An extent is how many objects and levels one object unfolds to.
type extent struct{ objects, levels uint64 }

func boundedBinary(raw []byte) error {
	if len(raw) < len("bplist00")+trailer {
		return errBinary
	}
	l := binaryList{raw: raw, seen: map[uint64]extent{}}
	end := uint64(len(raw) - trailer)
	l.offsetSize, l.refSize = uint64(raw[end+6]), uint64(raw[end+7])
	l.objects, l.table = l.number(end+8, 8), l.number(end+24, 8)
	wrong := l.offsetSize < 1 || l.offsetSize > 8 || l.refSize < 1 || l.refSize > 8
	if wrong || l.table > end || l.objects > (end-l.table)/l.offsetSize {
		return errBinary
	}
	_, err := l.extent(l.number(end+16, 8), 1)
	return err
}

// number reads an unsigned number, whose bytes the caller knows to be there.
func (l *binaryList) number(at, size uint64) uint64 {
	var n uint64
	for _, b := range l.raw[at : at+size] {
		n = n<<8 | uint64(b)
	}
	return n
}

// extent measures an object. What an object holds is counted once for each, so
// that objects which lie in the same bytes are found out.
func (l *binaryList) extent(index, level uint64) (extent, error) {
	if known, ok := l.seen[index]; ok {
		return known, nil
	}
	if level > maxDepth {
		return extent{}, errDepth
	}
	if index >= l.objects {
		return extent{}, errBinary
	}
	at := l.number(l.table+index*l.offsetSize, l.offsetSize)
	if at >= l.table {
		return extent{}, errBinary
	}
	members, bytes, start, err := l.head(at)
	if err != nil {
		return extent{}, err
	}
	if l.content += bytes; l.content > uint64(len(l.raw)) {
		return extent{}, errExpands
	}
	e, err := l.within(start, members, level)
	l.seen[index] = e
	return e, err
}

// head reads how many members an object has, how many bytes, and where both
// begin.
func (l *binaryList) head(at uint64) (members, bytes, start uint64, err error) {
	kind, count, start := l.raw[at]>>4, uint64(l.raw[at]&0xf), at+1
	if kind < 4 || kind == 8 { // numbers, dates and the like
		return 0, 0, start, nil
	}
	if count == 0xf {
		size := uint64(1) << (l.raw[start] & 0xf)
		if size > 8 || start+1+size > l.table {
			return 0, 0, start, errBinary
		}
		count, start = l.number(start+1, size), start+1+size
	}
	unit := map[byte]uint64{4: 1, 5: 1, 6: 2, 0xa: l.refSize, 0xd: 2 * l.refSize}[kind]
	if unit == 0 || count > (l.table-min(start, l.table))/unit {
		return 0, 0, start, errBinary
	}
	if kind >= 0xa {
		members = count * unit / l.refSize
	}
	return members, count * unit, start, nil
}

// within adds up the members of an object.
func (l *binaryList) within(start, members, level uint64) (extent, error) {
	e := extent{objects: 1, levels: 1}
	for i := range members {
		one, err := l.extent(l.number(start+i*l.refSize, l.refSize), level+1)
		if err != nil {
			return e, err
		}
		e.objects, e.levels = e.objects+one.objects, max(e.levels, one.levels+1)
		if e.objects > uint64(len(l.raw)) {
			return e, errExpands
		}
	}
	if e.levels > maxDepth {
		return e, errDepth
	}
	return e, nil
}
