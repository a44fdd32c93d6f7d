// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sentinel/internal/hashchain"
)

// encode returns r as a line, without the newline, and its hash.
func (r Record) encode() (line []byte, hash string, err error) {
	r.Hash = ""
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read the file
	if err := e.Encode(r); err != nil {
		return nil, "", fmt.Errorf("encode a record: %w", err)
	}
	line, hash = hashchain.Seal(b.Bytes())
	return line, hash, nil
}

// Why a line is not a record of the journal.
var (
	errNoRecord = errors.New("the line is not a record of the journal")
	errChanged  = errors.New("the record was changed: it does not match its hash")
)

// parseLine reads a line, given without its newline. Along with errChanged it
// returns what the record claims to be.
func parseLine(line []byte) (Record, error) {
	_, intact, ok := hashchain.Check(line)
	if !ok || len(line) >= maxLine {
		return Record{}, errNoRecord
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, errNoRecord
	}
	known := r.Event == EventIntent || r.Event == EventOutcome
	if !known || r.Seq == 0 || r.Seq > maxSeq || !hashchain.IsHash(r.Hash) || r.Prev != "" && !hashchain.IsHash(r.Prev) {
		return Record{}, errNoRecord
	}
	if !intact {
		return r, errChanged
	}
	return r, nil
}

// nextLine links r to the newest record and returns the line to write.
func (s *state) nextLine(r *Record) ([]byte, error) {
	r.Seq = max(s.last.Seq, s.head.Seq) + 1
	if r.Seq > maxSeq {
		return nil, fmt.Errorf("%s has no sequence number left", s.current.path)
	}
	r.Prev, r.Damage = s.last.Hash, s.damage
	if s.last.Seq == 0 {
		r.Prev = s.head.Hash
	}
	line, hash, err := r.encode()
	if err != nil {
		return nil, err
	}
	if len(line) >= maxLine {
		return nil, errors.New("the record is too long")
	}
	r.Hash = hash
	if s.unterminated {
		line = append([]byte("\n"), line...)
	}
	return append(line, '\n'), nil
}

// compare checks the newest record against the head. behind means that the head
// lacks only this record, as after a crash; damage describes what no crash explains.
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
