// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"strings"

	"github.com/moby/sys/mountinfo"
)

// At returns the mount that a path without links belongs to, nil if the table has none, and the
// mounts below the path, each mount point once.
func At(table []*mountinfo.Info, path string) (on *mountinfo.Info, below []*mountinfo.Info) {
	t := newTree(table)
	on = t.topmost[path]
	if on == nil {
		on = t.containing(path)
	}
	prefix := strings.TrimSuffix(path, "/") + "/"
	for _, m := range table {
		if m.Mountpoint != path && strings.HasPrefix(m.Mountpoint, prefix) && t.topmost[m.Mountpoint] == m {
			below = append(below, m)
		}
	}
	return on, below
}
