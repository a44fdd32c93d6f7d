// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"sentinel/internal/sanitize"
)

// Bounds of what an answer names of things that were not read, or are gone: anybody may have chosen the names.
const (
	maxNamed      = 12  // names
	maxNamedBytes = 500 // of JSON
)

// A Place is something that was not read, under a name that somebody chose.
type Place struct {
	Field  string // that is absent, with the name in it
	Reason string // why, for people
	Owner  string // who chose the name; "" is the system, or not known
}

// AddPlaces records the places that are named (see [Named]), those of one reason in one gap, and returns those that
// are not.
func (g *Gaps) AddPlaces(list []Place) (rest []Place) {
	var told Gaps
	named := map[Place]int{}
	Named(list, func(p Place) string { return p.Owner }, func(p Place) bool {
		longer := slices.Clone(told)
		longer.place(p)
		if Size(longer) > maxNamedBytes {
			return false
		}
		told = longer
		named[p]++
		return true
	})
	*g = append(*g, told...)
	return slices.DeleteFunc(slices.Clone(list), func(p Place) bool { named[p]--; return named[p] >= 0 })
}

// mostPlaces is how many places are named to whoever asks for all.
const mostPlaces = 1000

// AddAllPlaces is [Gaps.AddPlaces] with as many as there may be: each owner has a share.
func (g *Gaps) AddAllPlaces(list []Place) (rest []Place) {
	list, rest = Share(list, mostPlaces, func(p Place) string { return p.Owner })
	for _, p := range list {
		g.place(p)
	}
	return rest
}

func (g *Gaps) place(p Place) { g.also(strings.ReplaceAll(p.Field, ",", ";"), p.Reason) }

// Names returns what is shown of the names of list that are named (see [Named]); nil for none.
func Names(list []string, owner, show func(name string) string) (shown []string) {
	Named(list, owner, func(name string) bool {
		longer := append(slices.Clone(shown), show(name))
		if Size(longer) > maxNamedBytes {
			return false
		}
		shown = longer
		return true
	})
	return shown
}

// Named has those of list taken that an answer names, 12 at most, and returns how many are not: those of the
// system, "", first, and one of each other owner. take says false where there is no room, in bytes, for it.
func Named[T any](list []T, owner func(T) string, take func(T) bool) (rest int) {
	rest = len(list)
	seen := map[string]bool{}
	for _, ofSystem := range []bool{true, false} {
		for _, row := range list {
			who := owner(row)
			if (who == "") != ofSystem || who != "" && seen[who] || len(list)-rest == maxNamed {
				continue
			}
			seen[who] = true
			if take(row) {
				rest--
			}
		}
	}
	return rest
}

// Size returns the bytes of v in JSON; 0 for what cannot be encoded, which no part of an answer is.
func Size(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(raw)
}

// least is what [Shorten] leaves of a text, in characters.
const least = 12

// Shorten takes the ends of the longest of texts, which are those of row, until row has at most most bytes of
// JSON, or none has more than a few characters: who chooses them has no longer row than others.
func Shorten(row any, most int, texts ...*string) {
	short := func(text *string) bool { return utf8.RuneCountInString(*text) <= least }
	for texts = slices.DeleteFunc(texts, short); len(texts) > 0 && Size(row) > most; texts = slices.DeleteFunc(texts, short) {
		longest := slices.MaxFunc(texts, func(a, b *string) int { return len(*a) - len(*b) })
		*longest = sanitize.Text(*longest, max(least, utf8.RuneCountInString(*longest)*3/4))
	}
}
