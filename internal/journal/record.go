// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Events of a record.
const (
	EventIntent  = "intent"
	EventOutcome = "outcome"
)

// maxLine bounds a line, its end included, in bytes. Longer ones are never
// written, nor read into memory.
const maxLine = 16 << 10

// maxSeq is the largest number that every reader of JSON keeps whole.
const maxSeq = 1 << 53

// A Record is one line of the journal. An intent has what is above Of, an
// outcome the rest.
type Record struct {
	Seq       uint64         `json:"seq"`  // from 1, without gaps
	Time      time.Time      `json:"time"` // UTC, to the millisecond
	Event     string         `json:"event"`
	Tool      string         `json:"tool,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Who       *Who           `json:"who,omitempty"`
	Program   *Program       `json:"program,omitempty"`
	Of        uint64         `json:"of,omitempty"` // the sequence number of the intent
	Result    string         `json:"result,omitempty"`
	Code      string         `json:"code,omitempty"`
	Detail    string         `json:"detail,omitempty"`
	Damage    string         `json:"damage,omitempty"` // what was found wrong before this record was written
	Prev      string         `json:"prev"`             // the hash of the line before; empty in the first
	Hash      string         `json:"hash,omitempty"`   // hexadecimal SHA-256 of the line up to this member
}

// A Who says for whom a write was made.
type Who struct {
	UID      int    `json:"uid"` // real user id of sentinel
	User     string `json:"user,omitempty"`
	SudoUID  *int   `json:"sudo_uid,omitempty"` // who ran sudo
	SudoUser string `json:"sudo_user,omitempty"`
	Caller   string `json:"caller,omitempty"` // as an MCP client claims; nobody checked it
}

// A Program is the process of sentinel that wrote an intent.
type Program struct {
	PID     int    `json:"pid"`
	StartID string `json:"start_id"` // tells it from a later process with the same PID
}

// The line ends with the hash, so what it covers is cut from the line as it is:
// nobody has to agree on how JSON is written.
const (
	beforeHash = `,"hash":"`
	afterHash  = `"}`
	hashLength = 2 * sha256.Size
)

// encode returns the line of r, without its end, and its hash.
func (r Record) encode() (line []byte, hash string, err error) {
	r.Hash = ""
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(r); err != nil {
		return nil, "", fmt.Errorf("write a record as JSON: %w", err)
	}
	line = bytes.TrimSuffix(b.Bytes(), []byte("}\n"))
	hash = sum(line)
	return append(line, beforeHash+hash+afterHash...), hash, nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Why a line is not a record of the journal.
var (
	errNoRecord = errors.New("the line is not a record of the journal")
	errChanged  = errors.New("the record was changed: it does not match its hash")
)

// parseLine reads a line, without its end. With errChanged it returns what the
// record claims to be.
func parseLine(line []byte) (Record, error) {
	at := len(line) - len(beforeHash) - hashLength - len(afterHash)
	if at < 0 || len(line) >= maxLine || string(line[at:at+len(beforeHash)]) != beforeHash {
		return Record{}, errNoRecord
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, errNoRecord
	}
	known := r.Event == EventIntent || r.Event == EventOutcome
	if !known || r.Seq == 0 || r.Seq > maxSeq || !isHash(r.Hash) || r.Prev != "" && !isHash(r.Prev) {
		return Record{}, errNoRecord
	}
	if r.Hash != sum(line[:at]) {
		return r, errChanged
	}
	return r, nil
}

func isHash(s string) bool {
	if len(s) != hashLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
