// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"encoding/json"
	"slices"
)

// Length is how many bytes a text takes in a file. Some characters take six times their own.
func Length(text string) int {
	raw, _ := json.Marshal(text) //nolint:errcheck // every text can be written
	return len(raw)
}

// Share returns how many things each may have at most so that all have no more than a number of them
// together, where they would have counts: who has the most loses first.
func Share(counts []int, all int) (each int) {
	counts = slices.Sorted(slices.Values(counts))
	for i, n := range counts {
		if each = max(0, all) / (len(counts) - i); n > each {
			return each
		}
		each, all = n, all-n
	}
	return each
}
