// SPDX-License-Identifier: Apache-2.0

package assets

import "encoding/json"

// budget bounds a document of default length, in bytes of compact JSON. It leaves a
// thousand characters for the header.
const budget = 18_500

// fit shortens the lists until the document is within its budget. Fifty rows of an
// ordinary host are well below it, but names may be very long. The longer list
// loses its last row first.
func fit(r *Result) {
	n, s := &r.Asset.Network, &r.Asset.Storage
	interfaces, volumes := sizes(n.Interfaces), sizes(s.Volumes)
	left := budget - size(r)
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
		list[i] = size(&rows[i]) + 1
	}
	return list
}

func size(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0 // the types here always encode
	}
	return len(b)
}

func sum(list []int) int {
	total := 0
	for _, n := range list {
		total += n
	}
	return total
}
