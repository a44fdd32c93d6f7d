// SPDX-License-Identifier: Apache-2.0

// Package answer defines what all documents of sentinel have in common: the header,
// and the list of values that could not be read.
package answer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/version"
)

// A Header opens every document, success or failure.
type Header struct {
	Success   bool   `json:"success"`   // false when error, error_code and fix say why not
	Action    string `json:"action"`    // the action that was requested
	Timestamp string `json:"timestamp"` // RFC 3339, UTC
	Hostname  string `json:"hostname"`  // the kernel's host name: uname(2) nodename
	Version   string `json:"version"`   // of sentinel
}

// NewHeader returns the header of a document about action, with the current time
// and this host's name.
func NewHeader(action string, success bool) Header {
	name, _ := os.Hostname() //nolint:errcheck // an unnamed host has the empty name
	return Header{
		Success:   success,
		Action:    action,
		Timestamp: time.Now().UTC().Format(time.RFC3339),
		Hostname:  sanitize.Text(name, 253),
		Version:   version.Number,
	}
}

// A Gap names a field that is absent from a document, or not whole, and why. Field is the
// JSON path of the field with dots, such as "thermal" or "disks./srv".
type Gap struct {
	Field  string `json:"field"`  // the field that is absent or not whole: its path with dots, such as "disks./srv"; several with commas between
	Reason string `json:"reason"` // why, for people
}

// Gaps lists what a partial answer lacks. It is not safe for concurrent use.
type Gaps []Gap

// Add records that field is absent because of err. A nil err records nothing.
func (g *Gaps) Add(field string, err error) {
	if err != nil {
		g.Note(field, Reason(err))
	}
}

// Also records that a further field is absent. Where the reason is that of the gap before, it is told
// once, with both fields.
func (g *Gaps) Also(field string, err error) {
	if err != nil {
		g.also(field, Reason(err))
	}
}

func (g *Gaps) also(field, reason string) {
	if last := len(*g) - 1; last >= 0 && (*g)[last].Reason == sanitize.Text(reason, maxReason) {
		(*g)[last].Field += between + field
		return
	}
	g.Note(field, reason)
}

// between stands between the fields of one gap.
const between = ", "

// Fields are those of the gap.
func (g Gap) Fields() []string { return strings.Split(g.Field, between) }

// maxReason bounds a reason, in characters.
const maxReason = 200

// Note records that field is absent for the given reason.
func (g *Gaps) Note(field, reason string) {
	*g = append(*g, Gap{Field: field, Reason: sanitize.Text(reason, maxReason)})
}

// Reason explains to people why err left a value unknown. For a missing or
// forbidden file the error's own text would only show a path in /proc or /sys.
func Reason(err error) string {
	var file *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "not readable without root"
	case errors.As(err, &file) && errors.Is(err, fs.ErrNotExist):
		return "not provided by this system"
	case errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	default:
		return err.Error()
	}
}
