// SPDX-License-Identifier: Apache-2.0

package audittest

import "sentinel/internal/audit"

// Seen returns what was read of a list, and whether that is all.
func Seen[T any](list audit.List[T]) (seen []T, whole bool) {
	f := list.Judge(func(all []T) audit.Finding {
		seen = all
		return audit.Passed("")
	})
	return seen, f.Status == audit.Pass
}
