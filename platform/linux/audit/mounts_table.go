// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"slices"

	"github.com/moby/sys/mountinfo"

	"sentinel/platform/linux/mounts"
)

var errNoMounts = errors.New("lists no mount")

// mounts reads the mount table, once.
func (m *machine) mounts() ([]*mountinfo.Info, error) {
	return m.mountTable.Get(func() ([]*mountinfo.Info, error) {
		table, err := mounts.New(m.Root).Table()
		if err == nil && len(table) == 0 {
			err = errNoMounts
		}
		return table, err
	})
}

// mountedAt returns what is mounted at a path, nil for nothing: the last one hides
// the others.
func mountedAt(table []*mountinfo.Info, point string) *mountinfo.Info {
	for _, t := range slices.Backward(table) {
		if t.Mountpoint == point {
			return t
		}
	}
	return nil
}

// keepsFiles says whether a file system may keep files of this machine: on a disk, in an image or in memory. A type that
// is not known does; what is on a server, or served by a process, may never answer.
func keepsFiles(t *mountinfo.Info) bool {
	return !mounts.MadeUp(t.FSType) && !mounts.Remote(t.FSType) && t.FSType != "hugetlbfs" && t.FSType != "mqueue" // which have no programs
}
