// SPDX-License-Identifier: Apache-2.0

package editdistance

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxClosest = 3
	maxTyped   = 64 // bytes of a name that is compared
)

// Closest returns the names of which one was probably meant, at most three, the likeliest
// first: those that differ by a typing error, and those that have what was typed as one of
// their words, or as its beginning. Words are separated by dashes, as in flags.
func Closest(typed string, known []string) []string {
	if len(typed) > maxTyped {
		return nil
	}
	ranks := map[string]int{}
	var found []string
	for _, name := range known {
		if rank, ok := closeness(typed, name); ok && !slices.Contains(found, name) {
			found = append(found, name)
			ranks[name] = rank
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(ranks[a], ranks[b]) })
	return found[:min(len(found), maxClosest)]
}

// closeness ranks a known name; less is closer. A short name allows one typing
// error, since two would make it any other short name.
func closeness(typed, name string) (rank int, ok bool) {
	const shortest = 3 // characters from which a beginning says something
	if longest := max(1, min(2, len(typed)/3)); len(typed) <= len(name)+longest && len(name) <= len(typed)+longest && len(typed) > 1 {
		if away := Between(typed, name); away <= longest {
			return away, true
		}
	}
	words := strings.Split(name, "-")
	switch {
	case slices.Contains(words, typed):
		return 3, true
	case len(typed) >= shortest && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, typed) }):
		return 4, true
	default:
		return 0, false
	}
}
