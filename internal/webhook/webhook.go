// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers documents to receivers over HTTP, signed as
// Standard Webhooks has it (https://www.standardwebhooks.com).
//
// Whoever names a URL may not get to see more with the help of this program than without:
// the address is judged when the connection is made, after the name was resolved, nothing of the
// environment changes the way, a receiver cannot send the document on to another host, and what
// it answers is bounded and not shown.
package webhook

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// SchemaVersion is the version of the form of what is sent. It changes when a
// member goes or means something else, not when one is added.
const SchemaVersion = 1

// A Document is what is delivered. A receiver that gets one ID twice has got one
// document twice.
type Document struct {
	ID   string
	Body []byte // JSON
}

// NewID returns an ID that no other document has.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	return "msg_" + hex.EncodeToString(b[:])
}

// A Verdict says what became of a delivery.
type Verdict int

// The verdicts.
const (
	// Unreached: the receiver does not answer, answers that it cannot, or lets
	// nobody in, so that another document would fare no better now.
	Unreached Verdict = iota
	// Delivered: the receiver has taken it.
	Delivered
	// Refused: the receiver does not want this document.
	Refused
)

// A Result is how a delivery ended.
type Result struct {
	Verdict  Verdict
	Status   int // of the last answer; 0 without one
	Attempts int
	Reason   string // why it was not delivered: what the receiver did, without "it"
	Fix      string // what to do about that; may be empty
	// RetryAfter is when the receiver wants to be asked again, from now on; 0 when it
	// did not say.
	RetryAfter time.Duration
	retryable    bool // trying again soon may help
}

// statusText names a status of HTTP without the words of the receiver.
func statusText(status int) string { return fmt.Sprintf("answered with status %d", status) }
