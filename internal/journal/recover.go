// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A run can die between any two steps of an append. What it leaves, and what the
// next append makes of it:
//
//	died                                  left                                then
//	before the line is written            nothing, or room behind the end     nothing to mend
//	while the line is written             part of a line; the head is older   the part is cut off
//	after the line, before the head       one record more than the head says  the head is written
//	while the head is written             the same, and a head left aside     the same; that is removed
//	after the head                        all of it                           nothing to mend
//	a file is set aside, none is new      no current file                     one is made; the chain goes on
//	                                                                          from the file set aside
//	the new file has no record            an empty file                       the same
//	the oldest file was not yet removed   one file more than is kept          it is removed
//
// None of these loses a record whose append had returned. Anything else was done
// by somebody: it is kept as it is, and the next record tells of it.

// tailSize holds the newest record even with an unfinished line behind it.
const tailSize = 3 * maxLine

// A state is what the directory holds, as found under the lock.
type state struct {
	current *segment
	old     []*segment
	last    Record // the newest that is whole
	head    Head
	behind  bool   // the head lacks the newest record
	damage  string // what no crash explains
	unended bool   // the current file ends within a line that stays
}

// load finds out where the journal ends and mends what a crash left of a line.
func (j *Journal) load() (*state, error) {
	old, err := j.oldSegments()
	if err != nil {
		return nil, err
	}
	s := &state{current: &segment{path: filepath.Join(j.dir, currentName)}, old: old}
	if err := s.current.open(os.O_RDWR | os.O_CREATE); err != nil {
		return nil, err
	}
	if s.head, err = j.readHead(); errors.Is(err, errHead) {
		s.note(err.Error())
	} else if err != nil {
		s.close()
		return nil, err
	}
	if err := s.findEnd(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *state) close() {
	s.current.close()
	for _, o := range s.old {
		o.close()
	}
}

// note keeps the first thing that was found wrong.
func (s *state) note(damage string) {
	if s.damage == "" {
		s.damage = damage
	}
}

func (s *state) findEnd() error {
	end, err := readTail(s.current)
	if err != nil {
		return err
	}
	s.last = end.last
	if end.last.Seq == 0 {
		if err := s.continueFrom(end); err != nil {
			return err
		}
	}
	behind, damage := compare(s.last, s.head)
	s.note(damage)
	s.behind = behind && s.damage == ""
	if len(end.rest) == 0 {
		return nil
	}
	if s.damage == "" && torn(end.rest) {
		s.current.size = end.at
		return s.current.file.Truncate(end.at)
	}
	s.note("the journal ends with something that is no record")
	s.unended = end.rest[len(end.rest)-1] != '\n'
	return nil
}

// continueFrom finds the newest record when the current file has none.
func (s *state) continueFrom(end tail) error {
	if !end.whole || len(s.old) == 0 {
		return nil
	}
	before := s.old[len(s.old)-1]
	if err := before.open(os.O_RDONLY); err != nil {
		return err
	}
	ended, err := readTail(before)
	if err != nil {
		return err
	}
	s.last = ended.last
	return nil
}

// compare holds the newest record against the head. behind says that the head
// lacks just this record, which a crash explains; damage is what no crash explains.
func compare(last Record, head Head) (behind bool, damage string) {
	switch {
	case last.Seq == head.Seq && last.Hash == head.Hash:
		return false, ""
	case last.Seq == head.Seq+1 && (last.Prev == head.Hash || last.Damage != ""):
		return true, ""
	case last.Seq < head.Seq:
		return false, fmt.Sprintf("the journal ends with record %d, but record %d was written: the end was cut off", last.Seq, head.Seq)
	case last.Seq == head.Seq:
		return false, fmt.Sprintf("record %d is not the one that was written", last.Seq)
	case head.Seq == 0:
		return false, fmt.Sprintf("the journal ends with record %d, but its head is missing", last.Seq)
	default:
		return false, fmt.Sprintf("the journal ends with record %d, but its head is that of record %d", last.Seq, head.Seq)
	}
}

// A tail is the end of a file.
type tail struct {
	last  Record // the newest that is whole; Seq is 0 if there is none
	rest  []byte // what stands behind it
	at    int64  // where rest begins
	whole bool   // the file was read from its beginning
}

func readTail(s *segment) (tail, error) {
	at := max(0, s.size-tailSize)
	raw := make([]byte, s.size-at)
	if _, err := s.file.ReadAt(raw, at); err != nil {
		return tail{}, err
	}
	return parseTail(raw, at), nil
}

// parseTail finds the newest record in raw, which begins at the given offset of
// its file and ends with it.
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

// torn says whether rest looks like a single append that a crash cut short: part
// of a line, or a line with holes that a power cut left. A line that was to end
// what stood before it begins with a line end.
func torn(rest []byte) bool {
	if len(rest) > maxLine {
		return false
	}
	return !bytes.ContainsRune(bytes.TrimPrefix(rest, []byte("\n")), '\n') || bytes.IndexByte(rest, 0) >= 0
}
