// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"reflect"
	"testing"
)

// wholeOrNothing parses every prefix of a file. A prefix must either fail or give the result of the
// whole file: a truncated number, or a zero for a missing one, would misreport the machine.
func wholeOrNothing[T any](t *testing.T, file string, parse func([]byte) (T, error)) {
	t.Helper()
	beginnings(t, file, parse, func(got, want T) bool { return reflect.DeepEqual(got, want) })
}

// beginnings parses every prefix of a file; an accepted one must be like the whole.
func beginnings[T any](t *testing.T, file string, parse func([]byte) (T, error), like func(got, want T) bool) {
	t.Helper()
	want, err := parse([]byte(file))
	if err != nil {
		t.Fatalf("the whole file: %v", err)
	}
	for cut := range len(file) {
		got, err := parse([]byte(file[:cut]))
		if err == nil && !like(got, want) {
			t.Errorf("the first %d bytes, up to %q, read as %+v; the file as %+v", cut, tail(file[:cut]), got, want)
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-20):] }
