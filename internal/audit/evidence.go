// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// Bounds of the pieces of evidence of a check: those of an answer, and those of one that is not shortened.
const (
	maxEvidence = 5
	maxWhole    = 5_000
)

// A Line is a piece of evidence and whose doing it is.
type Line struct {
	Text string
	// Owner is the user who can make any number of such lines, by whatever tells users apart; "" is the system.
	Owner string
}

func (l Line) owner() string { return l.Owner }

// With adds evidence to a finding: that of the system first, since what root does wrong matters to all, and
// otherwise in the order of lines. An answer shares its places between the owners.
func (f Finding) With(lines ...Line) Finding {
	all := append(f.lines(), lines...)
	slices.SortStableFunc(all, func(a, b Line) int { return answer.TrueFirst(a.Owner == "", b.Owner == "") })
	f.Evidence, f.Owners = make([]string, len(all)), make([]string, len(all))
	for i, l := range all {
		f.Evidence[i], f.Owners[i] = l.Text, l.Owner
	}
	return f
}

// lines are the evidence with its owners; the system's is what has none.
func (f Finding) lines() []Line {
	lines := make([]Line, len(f.Evidence))
	for i, text := range f.Evidence {
		if lines[i].Text = text; i < len(f.Owners) {
			lines[i].Owner = f.Owners[i]
		}
	}
	return lines
}

// shown is so much of the evidence, and how much more there is.
func (f Finding) shown(places int) []string {
	picked, rest := answer.Share(f.lines(), places, Line.owner)
	var texts []string
	for _, l := range picked {
		texts = append(texts, sanitize.Text(l.Text, maxLine))
	}
	if len(rest) > 0 {
		texts = append(texts, more(len(rest)))
	}
	return texts
}
