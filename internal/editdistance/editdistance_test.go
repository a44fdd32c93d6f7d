// SPDX-License-Identifier: Apache-2.0

package editdistance

import "testing"

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "nginx", 5},
		{"nginx", "nginx", 0},
		{"nginx", "ngnix", 1}, // swapped
		{"nginx", "ngix", 1},
		{"nginx", "nginxx", 1},
		{"nginx", "mginx", 1},
		{"a", "", 1},
		{"abc", "acb", 1},
		{"abc", "abd", 1},
		{"abcd", "bcda", 2},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // a swapped pair is not edited again
		{"abcdef", "badcfe", 3},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := Between(pair[0], pair[1]); got != test.want {
				t.Errorf("%q and %q: %d, want %d", pair[0], pair[1], got, test.want)
			}
		}
	}
}
