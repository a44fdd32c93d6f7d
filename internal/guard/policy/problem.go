// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
)

// A Problem is one thing that is wrong with a file, or that its writer may not have meant.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

// String returns the problem as compilers print theirs.
func (p Problem) String() string {
	switch {
	case p.Line == 0:
		return p.File + ": " + p.Text
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	default:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
	}
}

// Problems are what is wrong with a file, in its order.
type Problems []Problem

// Error returns the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}
