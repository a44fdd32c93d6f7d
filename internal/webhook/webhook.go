// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers documents to receivers over HTTP, signed as
// Standard Webhooks has it (https://www.standardwebhooks.com), or as OTLP/HTTP to an OpenTelemetry
// Collector.
//
// A caller who names a URL must not reach more through this program than without it: the
// address is checked when the connection is made, after name resolution; no environment variable
// changes the route; a receiver cannot redirect the document to another host; and its answer is
// bounded and not shown, but for what a Collector did not take of a report.
package webhook

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// SchemaVersion is the version of the schema of what is sent. It changes when a
// member is removed or gets another meaning, not when one is added.
const SchemaVersion = 1

// A Document is what is delivered. A receiver that gets the same ID twice got the
// same document twice.
type Document struct {
	ID     string
	Body   []byte // JSON
	Sender string // uid of the user who had it sent, "" for a report of this machine; it decides what is kept, and is not sent
}

// NewID returns an ID that no other document has.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	return "msg_" + hex.EncodeToString(b[:])
}

// A Verdict is the outcome of a delivery.
type Verdict int

// The verdicts.
const (
	// Unreached: the receiver did not answer, cannot process requests or denied
	// access. Another document would now fail in the same way.
	Unreached Verdict = iota
	// Delivered: the receiver accepted the document.
	Delivered
	// Refused: the receiver rejected this document.
	Refused
)

// A Result is how a delivery ended.
type Result struct {
	Verdict  Verdict
	Status   int // of the last answer; 0 without one
	Attempts int
	Reason   string // why it was not delivered: what the receiver did, without "it"
	Fix      string // what to do about that; may be empty
	// RetryAfter is how long the receiver asked to wait; 0 if it did not say.
	RetryAfter time.Duration
	Partial    string // what a Collector did not take of a document that was delivered; "" is nothing
	NoRoute    bool   // the system refused to send any packet there
	OwnMachine bool   // it is this machine, and the configuration does not name it
	retryable  bool   // another attempt soon may succeed
}

// OwnMachineFix is what to do about a receiver on this machine that the configuration does not name.
const OwnMachineFix = "Send it to a receiver on another machine. One on this machine has to be named, with its whole URL, in webhook.endpoints of /etc/sentinel/config.yaml by the administrator."

// statusText describes an HTTP status without text of the receiver.
func statusText(status int) string { return fmt.Sprintf("answered with status %d", status) }
