// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"strings"

	"sentinel/internal/fault"
)

// A knownError is an error that a package manager prints, and its meaning.
type knownError struct {
	match   string // in its output, with LC_ALL=C
	code    fault.Code
	message string // without a full stop: what it printed follows
	fix     string
}

// diagnose turns the output of a manager into a fault: that of the first known error in it, or else
// a general one.
func diagnose(program, text string, known []knownError) error {
	for _, c := range known {
		if strings.Contains(text, c.match) {
			return faultFor(c, errorLines(text))
		}
	}
	return faultFor(knownError{
		code:    fault.Unavailable,
		message: program + " cannot say which updates there are",
		fix:     "Fix what the message names, then ask again.",
	}, errorLines(text))
}

func faultFor(c knownError, printed string) error {
	message := c.message + "."
	if printed != "" {
		message = c.message + ": " + printed
	}
	return fault.New(c.code, message).WithFix(c.fix)
}

// maxErrorLines is how many errors of a program are repeated: the second one often
// names the file that the first one is about.
const maxErrorLines = 2

// errorLines returns the first lines that a program marks as errors, or its first
// line when it marks none.
func errorLines(text string) string {
	var list []string
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if one, ok := errorLine(line); ok && len(list) < maxErrorLines {
			list = append(list, one)
		}
		if first == "" {
			first = line
		}
	}
	if len(list) == 0 {
		return first
	}
	return strings.Join(list, "; ")
}

func errorLine(line string) (string, bool) {
	for _, mark := range []string{"E: ", "Error: ", "error: ", "ERROR: "} {
		if one, ok := strings.CutPrefix(line, mark); ok {
			return one, true
		}
	}
	return "", false
}
