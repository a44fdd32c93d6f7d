// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"strings"

	"github.com/moby/sys/mountinfo"
)

// maxNesting bounds the walk from a mount to the root of the tree.
const maxNesting = 64

// A tree determines which mounts can be reached by their path. A later mount hides the mounts at
// the same place and below it; mountinfo lists both, and statfs on the path of a hidden one would
// answer for another file system.
type tree struct {
	byID    map[int]*mountinfo.Info
	topmost map[string]*mountinfo.Info
}

func newTree(table []*mountinfo.Info) tree {
	t := tree{byID: make(map[int]*mountinfo.Info, len(table)), topmost: make(map[string]*mountinfo.Info, len(table))}
	covered := make(map[int]bool)
	for _, m := range table {
		t.byID[m.ID] = m
	}
	for _, m := range table {
		if below, ok := t.byID[m.Parent]; ok && m.Mountpoint != "" && m.ID != m.Parent && below.Mountpoint == m.Mountpoint {
			covered[m.Parent] = true
		}
	}
	for _, m := range table {
		if m.Mountpoint != "" && !covered[m.ID] {
			t.topmost[m.Mountpoint] = m
		}
	}
	return t
}

// visible reports whether the path of m leads to m: nothing lies on top of it,
// and the same holds for each mount on the way down.
func (t tree) visible(m *mountinfo.Info) bool {
	for range maxNesting {
		if t.topmost[m.Mountpoint] != m {
			return false
		}
		above := t.containing(m.Mountpoint)
		if above == nil {
			return true
		}
		if t.base(m) != above.ID {
			return false
		}
		m = above
	}
	return false
}

// containing returns the mount that the directory above path belongs to, nil at
// the top of the tree.
func (t tree) containing(path string) *mountinfo.Info {
	for path != "/" && path != "" {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if path == "" {
			path = "/"
		}
		if m := t.topmost[path]; m != nil {
			return m
		}
	}
	return nil
}

// base returns the id of the mount that m was mounted on. Of several mounts
// stacked at one place only the lowest has it as its parent.
func (t tree) base(m *mountinfo.Info) int {
	for range maxNesting {
		below, ok := t.byID[m.Parent]
		if !ok || below.Mountpoint != m.Mountpoint || below == m {
			break
		}
		m = below
	}
	return m.Parent
}
