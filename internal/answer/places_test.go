// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of what could not be read one name of each user is told, after those of the system, and the rest is counted.
func TestOfEachUserOnePlaceIsNamed(t *testing.T) {
	const closed = "not readable without root"
	list := []Place{
		{"items.a1", closed, "ann"}, {"items.a2", closed, "ann"}, {"items./etc/x", closed, ""}, {"items.b, cpu", closed, "ben"}, {"items./etc/y", "too large", ""},
	}
	g := Gaps{{"cpu", closed}}
	rest := g.AddPlaces(list)
	want := Gaps{{"cpu", closed}, {"items./etc/x", closed}, {"items./etc/y", "too large"}, {"items.a1, items.b; cpu", closed}}
	if diff := cmp.Diff(want, g); diff != "" || !slices.Equal(rest, list[1:2]) {
		t.Errorf("%v more: %s", rest, diff)
	}
	if rest := g.AddPlaces(nil); len(rest) != 0 || len(g) != len(want) {
		t.Errorf("%v of none: %+v", rest, g)
	}
}

// However long names and reasons are, and however many users choose them, they take a part of an answer.
func TestPlacesHaveABound(t *testing.T) {
	for _, text := range []string{"a", "\ufffd", `"`, "<"} {
		var list []Place
		for n := range 100 {
			list = append(list, Place{strings.Repeat(text, n), strings.Repeat(text, n), fmt.Sprint("user ", n)})
		}
		g := Gaps{}
		rest := g.AddPlaces(list)
		if Size(g) > maxNamedBytes || len(g) == 0 || len(rest)+fields(g) != 100 {
			t.Errorf("%q: %d bytes, %d named, %d more", text, Size(g), fields(g), len(rest))
		}
		names := Names([]string{strings.Repeat(text, 600), "x", "y"}, func(string) string { return "" }, func(s string) string { return s })
		if diff := cmp.Diff([]string{"x", "y"}, names); diff != "" {
			t.Error(diff)
		}
	}
	var many []Place
	for n := range 100 {
		many = append(many, Place{fmt.Sprint("x", n), "", ""})
	}
	g := Gaps{}
	if rest := g.AddPlaces(many); len(rest) != 100-maxNamed || fields(g) != maxNamed {
		t.Errorf("%d named, %d more", fields(g), len(rest))
	}
}

func fields(g Gaps) (n int) {
	for _, gap := range g {
		n += len(gap.Fields())
	}
	return n
}

// A row is shortened where it is longest, and no more than it must be.
func TestTheLongestTextsAreShortened(t *testing.T) {
	row := struct{ Name, Path, Note string }{"short", strings.Repeat("p", 300), strings.Repeat("\ufffd", 300)}
	Shorten(&row, 500, &row.Name, &row.Path, &row.Note)
	if n := Size(row); n > 500 || n < 300 || row.Name != "short" || !strings.HasPrefix(row.Path, "pppp") || !strings.HasSuffix(row.Path, "…") || !strings.HasSuffix(row.Note, "…") {
		t.Errorf("%d bytes: %+v", n, row)
	}
	whole := row
	if Shorten(&row, 500, &row.Name, &row.Path, &row.Note); row != whole {
		t.Errorf("%+v", row)
	}
	if Shorten(&row, 1, &row.Name, &row.Path, &row.Note); len([]rune(row.Path)) != least || row.Name != "short" {
		t.Errorf("%+v", row)
	}
}
