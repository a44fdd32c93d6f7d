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
