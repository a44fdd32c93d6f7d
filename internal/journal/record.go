// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"time"
)

// Events of a record.
const (
	EventIntent  = "intent"
	EventOutcome = "outcome"
)

// maxLine bounds a line with its newline, in bytes. Longer ones are neither
// written nor read into memory.
const maxLine = 16 << 10

// maxSeq is the largest integer that every JSON reader represents exactly.
const maxSeq = 1 << 53

// A Record is a line of the journal. An intent uses the members above Of, an
// outcome those from Of to Detail.
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
	Damage    string         `json:"damage,omitempty"` // damage of the journal that was found before this record was written
	Prev      string         `json:"prev"`             // the hash of the line before; empty in the first
	Hash      string         `json:"hash,omitempty"`   // hexadecimal SHA-256 of the line up to this member
}

// A Who says for whom a change was made.
type Who struct {
	UID      int    `json:"uid"`                 // real user id of sentinel
	User     string `json:"user,omitempty"`      // name of that user
	SudoUID  *int   `json:"sudo_uid,omitempty"`  // who ran sudo
	SudoUser string `json:"sudo_user,omitempty"` // name of who ran sudo
	From     string `json:"from,omitempty"`      // address of the machine that the session came from in which it was asked for, as the sockets of sshd tell
	Caller   string `json:"caller,omitempty"`    // as claimed by an MCP client; not verified
	Asked    string `json:"asked,omitempty"`     // who agreed to it, as claimed by an MCP client; not verified
}

// A Program is the sentinel process that wrote an intent.
type Program struct {
	PID     int    `json:"pid"`
	StartID string `json:"start_id"` // distinguishes it from a later process with the same PID
}
