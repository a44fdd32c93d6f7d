// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// A tree is the right edge of the Merkle tree (RFC 6962) over the lines of a file: enough to go on
// and for its root.
type tree struct {
	size  int64
	edge  []tlog.Hash // roots of perfect subtrees, the largest first
	sizes []int64
}

func (t *tree) add(line []byte) {
	t.edge = append(t.edge, tlog.RecordHash(line))
	t.sizes = append(t.sizes, 1)
	t.size++
	for n := len(t.edge); n > 1 && t.sizes[n-2] == t.sizes[n-1]; n-- {
		t.edge[n-2] = tlog.NodeHash(t.edge[n-2], t.edge[n-1])
		t.sizes[n-2] *= 2
		t.edge, t.sizes = t.edge[:n-1], t.sizes[:n-1]
	}
}

// root returns the hash of the whole tree; that of an empty one is zero.
func (t *tree) root() (h tlog.Hash) {
	for i, left := range slices.Backward(t.edge) {
		if i == len(t.edge)-1 {
			h = left
			continue
		}
		h = tlog.NodeHash(left, h)
	}
	return h
}
