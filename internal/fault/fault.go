// SPDX-License-Identifier: Apache-2.0

// Package fault is the error model of sentinel: a closed set of codes, each with
// one exit status, one meaning and one default fix, and the document that reports a
// failure.
//
// A code crosses every boundary unchanged: sentinel prints it, sentinel-mcp passes
// it on, and programs test for it. Wrapped errors do not cross the process
// boundary; only the message and the fix do.
package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// An Error is a failure that a caller can act on.
type Error struct {
	Code    Code
	Message string // one sentence, for people
	Fix     string // what to do next; the code's own when empty
	ToolFix string // what a caller of the tool does next, which may have no shell; Fix when empty
	Err     error  // the cause, for errors.Is; not shown
	// With describes the object of the operation, such as the process that could
	// not be terminated. It is a struct; its members are added to the error
	// document, under the same names as in the document of success.
	With any
	// Protects are the sessions for whose sake something is refused; nil for none. The document has
	// them under that name.
	Protects *Protected
}

// New returns an Error with the default fix of its code.
func New(code Code, message string) *Error {
	return &Error{Code: code, Message: message}
}

// Wrap returns an Error about cause, whose text becomes part of the message. Lines, as
// [errors.Join] makes them, would run into one another in a sentence.
func Wrap(code Code, message string, cause error) *Error {
	return &Error{Code: code, Message: message + ": " + strings.ReplaceAll(cause.Error(), "\n", "; "), Err: cause}
}

// WithFix returns a copy of e that suggests fix.
func (e *Error) WithFix(fix string) *Error {
	changed := *e
	changed.Fix = fix
	return &changed
}

// WithToolFix returns a copy of e that suggests fix to a caller of the tool.
func (e *Error) WithToolFix(fix string) *Error {
	changed := *e
	changed.ToolFix = fix
	return &changed
}

// WithObject returns a copy of e that describes the object of the operation.
func (e *Error) WithObject(object any) *Error {
	changed := *e
	changed.With = object
	return &changed
}

// Protecting returns a copy of e that has the sessions for whose sake it refuses something; nil for none.
func (e *Error) Protecting(p *Protected) *Error {
	changed := *e
	changed.Protects = p
	return &changed
}

// Protected are sessions that a change would end or shut out.
type Protected struct {
	Sessions []Session `json:"sessions"`          // the caller's own first
	Total    int       `json:"sessions_total"`    // of which at most ten are told
	Through  string    `json:"through,omitempty"` // as in "through haproxy (PID 12)"; empty for directly
}

// A Session is that of a person on this machine.
type Session struct {
	User     string   `json:"user,omitempty"`                       // a login name
	From     []string `json:"from"`                                 // addresses of other hosts; empty for a local one and where they are not known
	Since    string   `json:"since,omitempty"`                      // RFC 3339
	Terminal string   `json:"terminal,omitempty"`                   // as "pts/0"
	Local    bool     `json:"local"`                                // it is at this machine itself, not over the network
	Whose    string   `json:"whose" enum:"own,possibly_own,others"` // seen from the caller
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// From returns err as an Error: unchanged if it is one, CANCELLED or TIMEOUT if a
// context ended, INTERNAL otherwise.
func From(err error) *Error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled, Message: "The request was cancelled before it finished.", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Timeout, Message: "The operation did not finish within its time limit.", Err: err}
	default:
		return Wrap(Internal, "Something failed that sentinel did not expect", err)
	}
}

// A Document reports a failed operation.
type Document struct {
	answer.Header
	Error     string     `json:"error"`                             // what went wrong, a sentence
	ErrorCode Code       `json:"error_code"`                        // stable; docs/errors.md lists them all
	Fix       string     `json:"fix"`                               // what to do next, with a command where there is one
	Protects  *Protected `json:"protects,omitempty" schema:"brief"` // the sessions for whose sake it was refused

	object any
}

// MarshalJSON merges the members of the object into the document.
func (d Document) MarshalJSON() ([]byte, error) {
	type plain Document
	own, err := encode(plain(d))
	if err != nil || d.object == nil {
		return own, err
	}
	object, err := encode(d.object)
	if err != nil || len(object) <= len("{}") {
		return own, err
	}
	return append(append(own[:len(own)-1], ','), object[1:]...), nil
}

// encode encodes v without HTML escapes, which nobody needs here.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// NewDocument returns the document for the failure of action with err.
func NewDocument(action string, err error) Document {
	e := From(err)
	fix := e.Fix
	if fix == "" {
		fix = e.Code.Fix()
	}
	return Document{
		Header:    answer.NewHeader(action, false),
		Error:     sanitize.Text(e.Message, 500),
		ErrorCode: e.Code,
		Fix:       sanitize.Text(fix, 500),
		Protects:  e.Protects,
		object:    e.With,
	}
}
