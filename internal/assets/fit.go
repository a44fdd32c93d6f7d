// SPDX-License-Identifier: Apache-2.0

package assets

import "sentinel/internal/answer"

// Bounds of a document of default length, and of a brief one, in bytes of compact JSON. They leave a
// thousand characters, and five hundred, for the header.
const (
	budget      = 18_500
	briefBudget = 7_500
)

// fit shortens the lists until the document has at most most bytes. Fifty rows of an
// ordinary host are well below the larger budget, but names may be very long. The longer list
// loses its last row first.
func fit(r *Result, most int) {
	n, s := &r.Asset.Network, &r.Asset.Storage
	interfaces, volumes := sizes(n.Interfaces), sizes(s.Volumes)
	left := most - answer.Size(r)
	for left < 0 && len(n.Interfaces)+len(s.Volumes) > 0 {
		if sum(interfaces) >= sum(volumes) {
			left += interfaces[len(interfaces)-1]
			interfaces = interfaces[:len(interfaces)-1]
			n.Interfaces, n.Truncated = n.Interfaces[:len(interfaces)], true
		} else {
			left += volumes[len(volumes)-1]
			volumes = volumes[:len(volumes)-1]
			s.Volumes, s.Truncated = s.Volumes[:len(volumes)], true
		}
	}
}

// sizes returns the bytes of each row, with its comma.
func sizes[T any](rows []T) []int {
	list := make([]int, len(rows))
	for i := range rows {
		list[i] = answer.Size(&rows[i]) + 1
	}
	return list
}

func sum(list []int) int {
	total := 0
	for _, n := range list {
		total += n
	}
	return total
}
