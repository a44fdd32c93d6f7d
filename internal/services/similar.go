// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"slices"
	"strings"

	"sentinel/internal/editdistance"
)

const (
	maxNear       = 3
	maxCandidates = 5000 // of the names that are compared
)

// Similar returns the names that somebody may have meant, the likeliest first.
// Those that may never be restarted are not suggested.
func (k *Kind) Similar(asked string, names []string) []string {
	type candidate struct {
		name string
		away int
	}
	var found []candidate
	wanted := strings.ToLower(k.BareName(asked))
	for _, name := range names[:min(len(names), maxCandidates)] {
		for _, form := range k.ShortForms(name) {
			if away, ok := distance(wanted, strings.ToLower(form)); ok && !k.final(name) {
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
// that begins with the other is near: postgres, postgresql; and one that has it as a word: covers,
// shop-covers.
func distance(a, b string) (away int, near bool) {
	longer := max(len(a), len(b))
	if len(a) >= 3 && len(b) >= 3 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b)) {
		return longer - min(len(a), len(b)), true
	}
	if len(a) >= 3 && slices.Contains(strings.FieldsFunc(b, isSeparator), a) {
		return len(b) - len(a), true
	}
	if min(len(a), len(b)) < longer-2 {
		return 0, false
	}
	away = editdistance.Between(a, b)
	return away, away <= 2 && away*3 <= longer
}

// isSeparator reports whether r separates the words of a service's name.
func isSeparator(r rune) bool { return strings.ContainsRune("-_.@", r) }
