// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"strings"

	"sentinel/internal/fault"
)

// A complaint is something that a package manager says when it cannot answer,
// and what that means.
type complaint struct {
	words string // in its output, with LC_ALL=C
	code  fault.Code
	means string // without a full stop: what it said follows
	fix   string
}

// diagnose turns what a manager printed into a fault: the first complaint that
// fits, else that the program failed.
func diagnose(program, text string, known []complaint) error {
	for _, c := range known {
		if strings.Contains(text, c.words) {
			return explain(c, said(text))
		}
	}
	return explain(complaint{
		code:  fault.Unavailable,
		means: program + " cannot say which updates there are",
		fix:   "Mend what the message says, then ask again.",
	}, said(text))
}

func explain(c complaint, said string) error {
	message := c.means + "."
	if said != "" {
		message = c.means + ": " + said
	}
	return fault.New(c.code, message).WithFix(c.fix)
}

// maxSaid is how many errors of a program are repeated: the second one often
// names the file that the first one is about.
const maxSaid = 2

// said returns the first lines that a program marks as errors, else its first
// line.
func said(text string) string {
	var list []string
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if one, ok := marked(line); ok && len(list) < maxSaid {
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

func marked(line string) (string, bool) {
	for _, mark := range []string{"E: ", "Error: ", "error: ", "ERROR: "} {
		if one, ok := strings.CutPrefix(line, mark); ok {
			return one, true
		}
	}
	return "", false
}
