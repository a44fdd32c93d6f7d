// SPDX-License-Identifier: Apache-2.0

package answer

// TrueFirst compares a and b like [cmp.Compare], with true before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}
