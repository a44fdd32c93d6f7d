// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"slices"
	"strings"
	"testing"
)

// In whatever pieces the output arrives, its lines are the same.
func TestLinesAreCutTheSameInAnyPieces(t *testing.T) {
	const printed = "one\n\nfour4\nsixsix\nsevense\nhalf"
	for size := 1; size <= len(printed); size++ {
		for wanted, want := range map[int][]string{
			99: {"one", "", "four4", "sixsix", "sevens…", "half"}, 3: {"one", "", "four4"}, 1: {"one"},
		} {
			var got []string
			l := &Lines{Longest: 6, Line: func(line []byte, cut bool) bool {
				got = append(got, string(line)+strings.Repeat("…", map[bool]int{true: 1}[cut]))
				return len(got) < wanted
			}}
			more := true
			for piece := range slices.Chunk([]byte(printed), size) {
				more = l.Add(piece)
			}
			l.End()
			if !slices.Equal(got, want) || more != (wanted == 99) {
				t.Errorf("pieces of %d, %d wanted: %q, more %v", size, wanted, got, more)
			}
		}
	}
}
