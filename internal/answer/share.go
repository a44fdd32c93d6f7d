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
	return share(list, places, math.MaxInt, owner, func(*T) int { return 0 })
}

// ShareRoom is [Share] with room for so many bytes of JSON, of which each owner but the system gets a quarter as
// well, or one row where that is larger. A row that may be picked is shortened first, in list: there may be
// thousands of others, for which that takes seconds.
func ShareRoom[T any](list []T, places, room int, owner func(T) string, shorten func(*T)) (picked, rest []T) {
	return share(list, places, room, owner, func(row *T) int {
		shorten(row)
		return Size(row) + len(",")
	})
}

func share[T any](list []T, places, room int, owner func(T) string, size func(*T) int) (picked, rest []T) {
	most := room / 4
	left := min(max(0, places), len(list))
	taken, bytes, full, chosen := map[string]int{}, map[string]int{}, map[string]bool{}, make([]bool, len(list))
	choose := func(shared bool) {
		for i := 0; i < len(list) && left > 0; i++ {
			who := owner(list[i])
			if chosen[i] || shared && full[who] {
				continue
			}
			n := size(&list[i])
			if full[who] = who != "" && taken[who] > 0 && bytes[who]+n > most; shared && full[who] {
				continue
			}
			if n > room {
				return
			}
			chosen[i], left, room = true, left-1, room-n
			taken[who]++
			bytes[who] += n
			full[who] = who != "" && taken[who] >= places/4
		}
	}
	choose(true)
	choose(false)
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
