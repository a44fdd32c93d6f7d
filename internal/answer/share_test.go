// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A user with any number of rows hides none of the system's and of other users, and has no place less where
// there is room.
func TestNobodyTakesThePlacesOfOthers(t *testing.T) {
	owner := func(row string) string {
		who, _, _ := strings.Cut(row, " ")
		return strings.TrimPrefix(who, "root")
	}
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprint("ann ", i))
	}
	list = append(list, "root back door", "ben a")
	for places, want := range map[int][]string{
		0: {}, -1: {}, 2: {"ann 0", "root back door"}, 3: {"ann 0", "root back door", "ben a"},
		6: {"ann 0", "ann 1", "ann 2", "ann 3", "root back door", "ben a"}, 102: list, 200: list,
	} {
		picked, rest := Share(list, places, owner)
		if !slices.Equal(picked, want) || len(picked)+len(rest) != len(list) {
			t.Errorf("%d places: %q and %d more", places, picked, len(rest))
		}
	}
	if picked, rest := Share([]string(nil), 5, owner); picked == nil || rest == nil {
		t.Error("no list is nil, which is null in JSON")
	}
}

// Long rows of a user take the room of nobody: a quarter of the bytes, and one row in any case.
func TestRoomIsSharedInBytes(t *testing.T) {
	owner := func(row string) string {
		who, _, _ := strings.Cut(row, " ")
		return strings.TrimPrefix(who, "root")
	}
	whole := func(*string) {}
	long, short := "ann "+strings.Repeat("l", 93), "root "+strings.Repeat("s", 42) // 100 and 50 bytes of JSON, with the comma
	list := append(slices.Repeat([]string{long}, 10), slices.Repeat([]string{short}, 10)...)
	for room, want := range map[int][2]int{
		0: {0, 0}, 99: {0, 0}, 150: {1, 1}, 400: {1, 6}, 700: {2, 10}, 1000: {5, 10}, 1500: {10, 10},
	} {
		picked, rest := ShareRoom(list, 100, room, owner, whole)
		anns := len(slices.DeleteFunc(slices.Clone(picked), func(row string) bool { return row != long }))
		if got := [2]int{anns, len(picked) - anns}; got != want || len(picked)+len(rest) != len(list) {
			t.Errorf("room for %d bytes: %v, want %v", room, got, want)
		}
	}
	if picked, _ := ShareRoom(list, 4, 1500, owner, whole); !slices.Equal(picked, []string{long, short, short, short}) {
		t.Errorf("%q", picked)
	}
	var looked int
	many := slices.Repeat([]string{long}, 10_000)
	if ShareRoom(many, 40, 1500, owner, func(*string) { looked++ }); looked > 50 {
		t.Errorf("%d rows were shortened, of which 15 have room", looked)
	}
	large := []string{short, "root " + strings.Repeat("s", 200), short}
	if picked, _ := ShareRoom(large, 3, 150, owner, whole); !slices.Equal(picked, large[:1]) {
		t.Errorf("a row that matters less is there in place of one that has no room: %q", picked)
	}
}

// The beginning of any length has something of everybody, and nothing is lost.
func TestEveryBeginningHasSomethingOfEverybody(t *testing.T) {
	owner := func(row string) byte { return row[0] }
	got := InTurn([]string{"a1", "a2", "a3", "b1", "a4", "c1", "b2"}, owner)
	if want := []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := InTurn(nil, owner); got == nil || len(got) != 0 {
		t.Errorf("of nothing %#v", got)
	}
}
