// SPDX-License-Identifier: Apache-2.0

package mounts

import "strings"

// maxNesting bounds the walk from a mount to the root of the tree.
const maxNesting = 64

// A tree answers which mounts can be reached by their path. A later mount hides
// what is mounted at the same place and below it; mountinfo lists both, and
// asking a hidden one by its path would answer for another file system.
type tree struct {
	byID    map[int]*entry
	topmost map[string]*entry
}

func newTree(entries []entry) tree {
	t := tree{byID: make(map[int]*entry, len(entries)), topmost: make(map[string]*entry, len(entries))}
	covered := make(map[int]bool)
	for i := range entries {
		t.byID[entries[i].id] = &entries[i]
	}
	for _, e := range entries {
		if below, ok := t.byID[e.parent]; ok && e.id != e.parent && below.mountpoint == e.mountpoint {
			covered[e.parent] = true
		}
	}
	for i := range entries {
		if !covered[entries[i].id] {
			t.topmost[entries[i].mountpoint] = &entries[i]
		}
	}
	return t
}

// visible reports whether the path of e leads to e: nothing lies on top of it,
// and the same holds for each mount on the way down.
func (t tree) visible(e *entry) bool {
	for range maxNesting {
		if t.topmost[e.mountpoint] != e {
			return false
		}
		above := t.containing(e.mountpoint)
		if above == nil {
			return true
		}
		if t.base(e) != above.id {
			return false
		}
		e = above
	}
	return false
}

// containing returns the mount that the directory above path belongs to, nil at
// the top of the tree.
func (t tree) containing(path string) *entry {
	for path != "/" && path != "" {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if path == "" {
			path = "/"
		}
		if e := t.topmost[path]; e != nil {
			return e
		}
	}
	return nil
}

// base returns the id of the mount that e's place is in. Of several mounts
// stacked at one place only the lowest has it as its parent.
func (t tree) base(e *entry) int {
	for range maxNesting {
		below, ok := t.byID[e.parent]
		if !ok || below.mountpoint != e.mountpoint || below == e {
			break
		}
		e = below
	}
	return e.parent
}
