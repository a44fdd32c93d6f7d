// SPDX-License-Identifier: Apache-2.0

package cli

// Bounds of an answer to a program, in bytes of JSON: of the usual one, and of one that was asked to be
// longer. Others choose the names in it, and a model reads all of it.
const (
	usualAnswer = 8_000
	longAnswer  = 19_000
)

// fit calls cut until the document at d is small enough, or cut has nothing left to leave out. cut says in
// the document that something is missing.
func fit(d any, size int, cut func() bool) {
	for {
		raw, err := encode(d, false)
		if err != nil || len(raw) <= size || !cut() {
			return
		}
	}
}

// journalRoom is room in the document of a change for what the journal has of it, in bytes.
const journalRoom = 600

// A shortened is a part of a document with lists of its own that can be cut; see [fit].
type shortened interface {
	// Shorten leaves something out and says so; false where nothing is left to leave out.
	Shorten() bool
}

// shorten makes d small enough where a program has asked.
func (c invocation) shorten(d shortened, size int) {
	if c.request {
		fit(d, size, d.Shorten)
	}
}

// fewer returns a list without its last tenth, at least one of it.
func fewer[T any](list []T) []T { return list[:len(list)*9/10] }
