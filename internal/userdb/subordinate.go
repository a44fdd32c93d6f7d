// SPDX-License-Identifier: Apache-2.0

package userdb

// A Range is one line of subuid or subgid: IDs that a user may use in user namespaces, and
// through set-user-ID files outside of them.
type Range struct {
	Owner string // a name, or a user ID as a number
	First int
	Count int
}

// Subordinate returns the ranges of subuid(5) or subgid(5), and the numbers of malformed lines.
func Subordinate(raw []byte) (ranges []Range, bad []int) {
	return lines(raw, 3, func(f []string, _ int) (Range, bool) {
		first, ok1 := number(f[1])
		count, ok2 := number(f[2])
		return Range{f[0], first, count}, ok1 && ok2
	})
}
