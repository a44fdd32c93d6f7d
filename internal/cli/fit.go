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

// fewer returns a list without its last tenth, at least one of it.
func fewer[T any](list []T) []T { return list[:len(list)*9/10] }
