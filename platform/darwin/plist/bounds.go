// SPDX-License-Identifier: Apache-2.0

package plist

import (
	"bytes"
	"encoding/xml"
	"errors"
)

// maxDepth is how deep lists and dictionaries may be nested. The deepest of macOS
// have about twenty levels.
const maxDepth = 200

// Errors of hostile lists: the library would take minutes, or all memory, to
// decode them.
var (
	errDepth    = errors.New("the property list is nested too deeply")
	errTooLarge = errors.New("the property list expands to more than its size")
	errBinary   = errors.New("the binary property list is damaged")
)

// checkBounds checks a list before it is decoded. Root also reads property lists
// that any user can write.
func checkBounds(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("bplist")) {
		return checkBinaryBounds(raw)
	}
	depth := 0
	for decoder := xml.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := decoder.RawToken()
		if err != nil {
			return nil //nolint:nilerr // the end, or an error that the library reports too
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

// trailerSize is the size of the trailer of a binary list, in bytes.
const trailerSize = 32

// A binaryList is in the format of CFBinaryPList.c of CoreFoundation: objects, a
// table of their offsets, and a trailer. Lists and dictionaries refer to their members by number,
// so that one object can be a member of many, and a hundred bytes can expand to gigabytes.
type binaryList struct {
	raw                 []byte
	offsetSize, refSize uint64
	objects, table      uint64
	content             uint64               // bytes of texts and references so far
	seen                map[uint64]expansion // of each object, once known
}

// An expansion is how many objects and levels an object expands to.
type expansion struct{ objects, levels uint64 }

func checkBinaryBounds(raw []byte) error {
	if len(raw) < len("bplist00")+trailerSize {
		return errBinary
	}
	l := binaryList{raw: raw, seen: map[uint64]expansion{}}
	end := uint64(len(raw) - trailerSize)
	l.offsetSize, l.refSize = uint64(raw[end+6]), uint64(raw[end+7])
	l.objects, l.table = l.number(end+8, 8), l.number(end+24, 8)
	wrong := l.offsetSize < 1 || l.offsetSize > 8 || l.refSize < 1 || l.refSize > 8
	if wrong || l.table > end || l.objects > (end-l.table)/l.offsetSize {
		return errBinary
	}
	_, err := l.expand(l.number(end+16, 8), 1)
	return err
}

// number reads an unsigned integer. The caller has checked that its bytes exist.
func (l *binaryList) number(at, size uint64) uint64 {
	var n uint64
	for _, b := range l.raw[at : at+size] {
		n = n<<8 | uint64(b)
	}
	return n
}

// expand measures an object. The bytes of each object are counted, so that
// objects that overlap are found.
func (l *binaryList) expand(index, level uint64) (expansion, error) {
	if known, ok := l.seen[index]; ok {
		return known, nil
	}
	if level > maxDepth {
		return expansion{}, errDepth
	}
	if index >= l.objects {
		return expansion{}, errBinary
	}
	at := l.number(l.table+index*l.offsetSize, l.offsetSize)
	if at >= l.table {
		return expansion{}, errBinary
	}
	members, bytes, start, err := l.header(at)
	if err != nil {
		return expansion{}, err
	}
	if l.content += bytes; l.content > uint64(len(l.raw)) {
		return expansion{}, errTooLarge
	}
	e, err := l.expandMembers(start, members, level)
	l.seen[index] = e
	return e, err
}

// header reads how many members and bytes an object has, and where they begin.
func (l *binaryList) header(at uint64) (members, bytes, start uint64, err error) {
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

// expandMembers adds up the members of an object.
func (l *binaryList) expandMembers(start, members, level uint64) (expansion, error) {
	e := expansion{objects: 1, levels: 1}
	for i := range members {
		one, err := l.expand(l.number(start+i*l.refSize, l.refSize), level+1)
		if err != nil {
			return e, err
		}
		e.objects, e.levels = e.objects+one.objects, max(e.levels, one.levels+1)
		if e.objects > uint64(len(l.raw)) {
			return e, errTooLarge
		}
	}
	if e.levels > maxDepth {
		return e, errDepth
	}
	return e, nil
}
