// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the JSON type of a field.
type Kind int

// The kinds.
const (
	Integer Kind = iota
	Text
	Boolean
)

// A Field is one argument of an operation.
type Field struct {
	Name        string // in JSON: "count"
	Flag        string // on the command line: "top-count"; for the operation's object it is the operation's own flag, as in --kill PID
	Kind        Kind
	Description string
	Placeholder string   // stands for the value in help texts: "PID"
	Min, Max    int64    // of an Integer, both inclusive
	Enum        []string // the only values of a Text; empty for free text
	MaxLength   int      // of free text, in runes
	Default     any      // int64, string or bool; nil when there is no value by default
	Required    bool
	Code        string // error code of a wrong value; "" is INVALID_ARGUMENT
	Fix         string // what to send instead; "" is derived from the bounds
	// Candidates is the kind of values that the machine has, for completions; "" is none.
	Candidates string
}

// An ArgumentError says which argument is wrong and what to send instead.
type ArgumentError struct {
	Message string
	Fix     string
	Code    string // of package fault; "" is INVALID_ARGUMENT
}

// Error returns the sentence.
func (e *ArgumentError) Error() string { return e.Message }

// fromText parses a value as typed on a command line. An integer consists of digits
// and perhaps a minus, without leading zeros or another base, so that it means what
// a person reads. A boolean is a switch, on when it is present.
func (f Field) fromText(name, text string) (any, error) {
	switch f.Kind {
	case Boolean:
		return true, nil
	case Text:
		return f.checkText(name, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return nil, f.wrong(name, shown(text))
	}
	return f.checkInteger(name, n, text)
}

// fromJSON parses a value as sent by a program. An integral number counts as an
// integer however it is spelled (5, 5.0, 5e0), as in JSON Schema.
func (f Field) fromJSON(raw json.RawMessage) (any, error) {
	switch f.Kind {
	case Boolean:
		if text := string(raw); text == "true" || text == "false" {
			return text == "true", nil
		}
		return nil, f.wrong(f.Name, shown(string(raw)))
	case Text:
		var s string
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			return nil, f.wrong(f.Name, shown(string(raw)))
		}
		return f.checkText(f.Name, s)
	}
	n, ok := integral(string(raw))
	if !ok {
		return nil, f.wrong(f.Name, shown(string(raw)))
	}
	return f.checkInteger(f.Name, n, string(raw))
}

// integral parses a JSON number without a fraction. Above 2^53 a float no longer
// identifies one integer, so only the plain spelling is accepted there.
func integral(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

func (f Field) checkInteger(name string, n int64, text string) (any, error) {
	if n < f.Min || n > f.Max {
		return nil, f.wrong(name, shown(text))
	}
	return n, nil
}

func (f Field) checkText(name, text string) (any, error) {
	length := utf8.RuneCountInString(text)
	switch {
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, text):
		return nil, f.wrong(name, shown(strconv.Quote(text)))
	case len(f.Enum) == 0 && length > f.MaxLength:
		return nil, f.wrong(name, fmt.Sprintf("%d", length))
	case f.Required && text == "":
		return nil, f.wrong(name, "an empty text")
	}
	return text, nil
}

// missing returns the error for a required argument that is absent.
func (f Field) missing() error {
	return &ArgumentError{Message: f.Name + " is missing.", Fix: f.fix(f.Name), Code: f.Code}
}

func (f Field) wrong(name, got string) error {
	return &ArgumentError{Message: fmt.Sprintf("%s must be %s, not %s.", name, f.allowed(), got), Fix: f.fix(name), Code: f.Code}
}

func (f Field) fix(name string) string {
	switch {
	case f.Fix != "":
		return f.Fix
	case f.Default != nil:
		return fmt.Sprintf("Send %s as %s, or leave it out for %v.", name, f.allowed(), f.Default)
	case f.Required:
		return fmt.Sprintf("Send %s as %s.", name, f.allowed())
	default:
		return fmt.Sprintf("Send %s as %s, or leave it out.", name, f.allowed())
	}
}

func (f Field) allowed() string {
	switch {
	case f.Kind == Integer:
		return fmt.Sprintf("a whole number from %d to %d", f.Min, f.Max)
	case f.Kind == Boolean:
		return "true or false"
	case len(f.Enum) > 0:
		return "one of " + strings.Join(f.Enum, ", ")
	default:
		return fmt.Sprintf("a text of at most %d characters", f.MaxLength)
	}
}

// shown shortens a wrong value for an error message.
func shown(text string) string {
	const most = 40
	if text == "" {
		return "an empty value"
	}
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// schema returns the JSON Schema of the field.
func (f Field) schema() map[string]any {
	s := map[string]any{"description": f.Description}
	if f.Default != nil {
		s["default"] = f.Default
	}
	switch f.Kind {
	case Integer:
		s["type"], s["minimum"], s["maximum"] = "integer", f.Min, f.Max
	case Boolean:
		s["type"] = "boolean"
	case Text:
		s["type"] = "string"
		if len(f.Enum) > 0 {
			s["enum"] = f.Enum
		} else {
			s["maxLength"] = f.MaxLength
		}
	}
	return s
}
