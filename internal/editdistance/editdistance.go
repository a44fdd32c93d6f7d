// SPDX-License-Identifier: Apache-2.0

// Package editdistance measures how far a typed name is from a known one.
package editdistance

// Between returns the number of bytes to insert, remove, replace or swap with their
// neighbour to turn a into b (optimal string alignment). It is never less than the
// difference of their lengths, which callers check first, because the cost is the
// product of the lengths.
func Between(a, b string) int {
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
