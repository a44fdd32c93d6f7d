// SPDX-License-Identifier: Apache-2.0

package processes

// Family lists processes and all that descend from them, by their parents. In a table that changes while it is read
// there may be a circle.
func Family(parents map[int]int, of ...int) map[int]bool {
	children := make(map[int][]int, len(parents))
	for child, parent := range parents {
		children[parent] = append(children[parent], child)
	}
	family := map[int]bool{}
	for queue := of; len(queue) > 0; queue = queue[1:] {
		if pid := queue[0]; !family[pid] {
			family[pid] = true
			queue = append(queue, children[pid]...)
		}
	}
	return family
}
