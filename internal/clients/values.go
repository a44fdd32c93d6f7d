// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// The readers of values take slices of a text that is known to be valid JSON, and copy none but the
// texts that are wanted: some clients keep MiB of history beside their servers.

// none stands for a member that is not there.
var none = []byte("null")

// values yields what is directly inside an object, by name, or inside a list.
func values(outer []byte) iter.Seq2[string, []byte] {
	inside := outer[1 : len(outer)-1]
	return func(yield func(name string, value []byte) bool) {
		for at := nextValue(inside, 0); at < len(inside); at = nextValue(inside, at) {
			name := ""
			if outer[0] == '{' {
				end := valueEnd(inside, at)
				name = unquoted(inside[at:end])
				at = nextValue(inside, end)
			}
			end := valueEnd(inside, at)
			if !yield(name, inside[at:end]) {
				return
			}
			at = end
		}
	}
}

// member returns a member of an object, the last one of that name as clients take it, or null.
func member(object []byte, wanted string) []byte {
	found := none
	for name, value := range values(object) {
		if name == wanted {
			found = value
		}
	}
	return found
}

// text returns a value that is a text; ok is false for others, and for one that is too long.
func text(value []byte) (said string, ok bool) {
	if value[0] != '"' || len(value) > 6*maxText { // an escaped character takes six bytes
		return "", false
	}
	if said = unquoted(value); len(said) > maxText {
		return "", false
	}
	return said, true
}

// unquoted decodes a text. Nearly all are as they stand, and take no memory but their own.
func unquoted(value []byte) string {
	if bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : len(value)-1])
	}
	var said string
	_ = json.Unmarshal(value, &said) //nolint:errcheck // it is part of a text that is valid
	return said
}

// nextValue returns where the next name or value begins, from the end of the last one.
func nextValue(b []byte, at int) int {
	return at + len(b[at:]) - len(bytes.TrimLeft(b[at:], " \t\r\n,:"))
}

// valueEnd returns the index behind the value that begins at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i) + 1
	case '{', '[':
		return bracketEnd(b, i) + 1
	}
	length := bytes.IndexAny(b[i:], " \t\r\n,")
	if length < 0 {
		return len(b)
	}
	return i + length
}

// bracketEnd returns the index of the bracket that closes the one at i.
func bracketEnd(b []byte, i int) int {
	for open := 0; ; i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i
			}
		}
	}
}
