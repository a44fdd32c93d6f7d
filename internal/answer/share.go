// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"math"
	"slices"
)

// Share picks so many of list, in its order, and returns the others as well. Each owner but the system, "",
// gets a quarter of the places while others wait for one: who can make any number of rows could otherwise
// hide those of everybody else.
func Share[T any](list []T, places int, owner func(T) string) (picked, rest []T) {
	return share(list, places, math.MaxInt, owner, func(T) int { return 0 })
}

// ShareRoom is [Share] with room for so many bytes of JSON, of which each owner but the system gets a quarter as
// well, or one row where that is larger.
func ShareRoom[T any](list []T, places, room int, owner func(T) string) (picked, rest []T) {
	return share(list, places, room, owner, func(row T) int { return Size(row) + len(",") })
}

func share[T any](list []T, places, room int, owner func(T) string, size func(T) int) (picked, rest []T) {
	most := room / 4
	left := min(max(0, places), len(list))
	taken, bytes, chosen := map[string]int{}, map[string]int{}, make([]bool, len(list))
	choose := func(wanted func(who string, size int) bool) {
		for i := 0; i < len(list) && left > 0; i++ {
			who, n := owner(list[i]), size(list[i])
			switch {
			case chosen[i] || !wanted(who, n):
				continue
			case n > room:
				return
			}
			chosen[i], left, room = true, left-1, room-n
			taken[who]++
			bytes[who] += n
		}
	}
	choose(func(who string, n int) bool {
		return who == "" || taken[who] == 0 || taken[who] < places/4 && bytes[who]+n <= most
	})
	choose(func(string, int) bool { return true })
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
