// SPDX-License-Identifier: Apache-2.0

// Package sanitize makes text that came from the host safe to show.
//
// Process names, command lines, unit names and error texts are chosen by whoever
// runs software on the machine, so they are untrusted input: they may hold terminal
// escapes, bidirectional overrides that reorder what a person reads, megabytes of
// data, or somebody's password.
package sanitize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s without control, format and bidirectional characters, cut to at
// most limit runes. Characters that would move a cursor or reorder text, and
// invalid UTF-8, become U+FFFD, so that a reader sees that there was something; a
// text that was cut ends with "…".
func Text(s string, limit int) string {
	if plain(s) && len(s) <= limit {
		return s
	}
	if limit <= 0 {
		return ""
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit-1 && n < utf8.RuneCountInString(s)-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(visible(r))
		n++
	}
	return b.String()
}

// quotable has no mark that ends a quote, nor a backslash that strconv.QuotedPrefix takes for the beginning of
// something.
var quotable = strings.NewReplacer(`"`, "'", `\`, `\\`)

// Quoted is [Text] in quotation marks, for what others have named in a sentence of ours: it ends where
// the second mark is, for readers and for strconv.QuotedPrefix.
func Quoted(s string, limit int) string { return `"` + quotable.Replace(Text(s, limit)) + `"` }

// plain reports whether s is printable ASCII, which needs no rewriting.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// blanks are drawn as nothing, and to Unicode are letters or symbols like their neighbours: an empty pattern of
// Braille, a filler of the Khitan script, and a head of a note that has none.
const blanks = "\u2800\U00016fe4\U0001d159"

// visible maps a rune that is unsafe to show to U+FFFD, and white space to a blank.
// Not graphic are the bidirectional controls, the zero-width characters and the
// tag characters, what breaks lines, and what Unicode has assigned to nobody. The
// two tables hold other invisible characters, such as fillers, and the variation
// selectors, in which whole texts can be hidden.
func visible(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case !unicode.IsGraphic(r), unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector), strings.ContainsRune(blanks, r):
		return utf8.RuneError
	default:
		return r
	}
}
