// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"path/filepath"

	"sentinel/internal/hashchain"
)

// A process can die between any two steps of an append. This is what it leaves
// behind, and what the next append does about it:
//
//	the process died                        left behind                           next append
//	before the line is written              nothing, or reserved space            nothing to repair
//	while the line is written               part of a line; the head is older     truncates the file
//	after the line, before the head         one record more than the head says    writes the head
//	while the head is written               the same, and a temporary file        the same; removes the file
//	after the head                          everything                            nothing to repair
//	after the rename of a rotation          no current file                       creates one; the chain goes on
//	                                                                              from the rotated file
//	before the first record of a new file   an empty file                         the same
//	before the oldest file is removed       one file too many                     removes it
//
// None of these loses a record whose append had returned. Anything else was done
// by somebody: it is kept as it is, and the next record mentions it.

// A state is what the directory holds, as read under the lock.
type state struct {
	current      *segment
	rotated      []*segment
	last         Record // the newest intact record
	head         Head
	behind       bool   // the head lacks the newest record
	damage       string // what no crash explains; "" for none
	unterminated bool   // the current file ends without a newline, which stays so
}

// load finds the end of the journal and removes a partial line that a crash left.
func (j *Journal) load() (*state, error) {
	old, err := j.rotatedSegments()
	if err != nil {
		return nil, err
	}
	s := &state{current: &segment{path: filepath.Join(j.dir, currentName)}, rotated: old}
	if err := s.current.open(os.O_RDWR | os.O_CREATE); err != nil {
		return nil, err
	}
	if s.head, err = j.readHead(); errors.Is(err, errHead) {
		s.noteDamage(err.Error())
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
	for _, o := range s.rotated {
		o.close()
	}
}

// noteDamage keeps the first damage that was found.
func (s *state) noteDamage(damage string) {
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
	s.noteDamage(damage)
	s.behind = behind && s.damage == ""
	if len(end.rest) == 0 {
		return nil
	}
	if s.damage == "" && hashchain.Torn(end.rest, maxLine) {
		s.current.size = end.at
		return s.current.file.Truncate(end.at)
	}
	s.noteDamage("the journal ends with something that is no record")
	s.unterminated = end.rest[len(end.rest)-1] != '\n'
	return nil
}

// continueFrom finds the newest record when the current file has none.
func (s *state) continueFrom(end tail) error {
	if !end.whole || len(s.rotated) == 0 {
		return nil
	}
	before := s.rotated[len(s.rotated)-1]
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
