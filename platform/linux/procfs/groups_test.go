// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"slices"
	"testing"
)

func TestGroupsOfAProcess(t *testing.T) {
	for text, want := range map[string][]int{
		"Name:\tx\nUid:\t33\t33\t33\t33\nGid:\t33\t33\t33\t33\nGroups:\t4 27 \n": {33, 33, 33, 33, 4, 27},
		"Gid:\t0\t0\t0\t0\nGroups:\t\n":                                          {0, 0, 0, 0},
		"Gid:\tx\n":                                                              nil,
		"Groups:\t4294967296\n":                                                  nil,
		"":                                                                       nil,
	} {
		if got, err := parseGroups([]byte(text)); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzGroups(f *testing.F) {
	f.Add([]byte("Gid:\t33\t33\t33\t33\nGroups:\t4 27 \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, err := parseGroups(b); err == nil && len(list) == 0 {
			t.Error("no groups and no error")
		}
	})
}
