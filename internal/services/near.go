// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxNear       = 3
	maxCandidates = 5000 // of the names that are compared
)

// near returns the names that somebody may have meant, the likeliest first.
// Those that may never be restarted are not suggested.
func near(h House, asked string, names []string) []string {
	type candidate struct {
		name string
		away int
	}
	var found []candidate
	wanted := strings.ToLower(h.bare(asked))
	for _, name := range names[:min(len(names), maxCandidates)] {
		for _, form := range h.tails(name) {
			if away, ok := distance(wanted, strings.ToLower(form)); ok && !final(h, name) {
				found = append(found, candidate{name, away})
			}
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.name, b.name))
	})
	var best []string
	for _, c := range found {
		if len(best) < maxNear && !slices.Contains(best, c.name) {
			best = append(best, c.name)
		}
	}
	return best
}

// distance says how far apart two names are, and whether that is near. A name
// that begins with the other is near: postgres, postgresql.
func distance(a, b string) (away int, near bool) {
	longer := max(len(a), len(b))
	if len(a) >= 3 && len(b) >= 3 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b)) {
		return longer - min(len(a), len(b)), true
	}
	if min(len(a), len(b)) < longer-2 {
		return 0, false
	}
	away = edits(a, b)
	return away, away <= 2 && away*3 <= longer
}

// edits counts the bytes to insert, remove, replace or swap with their
// neighbour to make b of a.
func edits(a, b string) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
