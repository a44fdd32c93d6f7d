// SPDX-License-Identifier: Apache-2.0

package answer

import "slices"

// Share picks so many of list, in its order, and returns the others as well. Each owner but the system, "",
// gets a quarter of the places while others wait for one: who can make any number of rows could otherwise
// hide those of everybody else.
func Share[T any](list []T, places int, owner func(T) string) (picked, rest []T) {
	taken, chosen := map[string]int{}, make([]bool, len(list))
	left := min(max(0, places), len(list))
	choose := func(wanted func(who string) bool) {
		for i, row := range list {
			if who := owner(row); left > 0 && !chosen[i] && wanted(who) {
				chosen[i] = true
				taken[who]++
				left--
			}
		}
	}
	choose(func(who string) bool { return who == "" || taken[who] < max(1, places/4) })
	choose(func(string) bool { return true })
	picked, rest = []T{}, []T{}
	for i, row := range list {
		if chosen[i] {
			picked = append(picked, row)
		} else {
			rest = append(rest, row)
		}
	}
	return picked, rest
}

// InTurn returns list with the first row of every owner, in their order, before the second of any, and so
// on: wherever it is cut, who can make any number of rows has taken the places of nobody. It is never nil,
// which would be no list in JSON.
func InTurn[T any, K comparable](list []T, owner func(T) K) []T {
	taken := map[K]int{}
	var rounds [][]T
	for _, row := range list {
		who := owner(row)
		n := taken[who]
		taken[who]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], row)
	}
	return append([]T{}, slices.Concat(rounds...)...)
}
