// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/platform/linux/audit/filetree"
	"sentinel/platform/linux/mounts"
)

// walkStarts are the mount points of the file systems to walk: the root and what else keeps files. Left out is what
// another start shows, and, outside of the system directories, what is mounted nosuid. Nothing leads from the root
// to what is shared below the system directories. closed says of a directory that only root may get to what is in it.
func walkStarts(table []*mountinfo.Info, system bool, closed func(path string) bool) []string {
	starts := []string{"/"}
	for _, shared := range sharedDirs {
		if on, _ := mounts.At(table, shared); !system && on != nil && on.Mountpoint != shared && keepsFiles(on) {
			starts = append(starts, shared)
		}
	}
	for _, t := range newShown(table, system, closed).distinct() {
		if !slices.Contains(starts, t.Mountpoint) && isSystemPath(t.Mountpoint) == system {
			starts = append(starts, t.Mountpoint)
		}
	}
	return starts
}

// shown tells which mounts show what others show. Files of the system are looked at more closely, so that a mount
// there counts as shown by another one there alone; for programs with the set-user-ID bit one that is mounted nosuid
// shows nothing.
type shown struct {
	table  []*mountinfo.Info
	system bool
	closed func(path string) bool
	last   map[string]int // the topmost mount of each point
	points []string       // sorted
}

func newShown(table []*mountinfo.Info, system bool, closed func(path string) bool) shown {
	s := shown{table: table, system: system, closed: closed, last: make(map[string]int, len(table))}
	for i, t := range table {
		s.last[t.Mountpoint] = i
		s.points = append(s.points, t.Mountpoint)
	}
	slices.Sort(s.points)
	return s
}

// distinct returns the mounts that no other shows, in the order of the table. What shows most is taken first.
func (s shown) distinct() []*mountinfo.Info {
	var walked []int
	for i := range s.table {
		if s.isWalked(i) {
			walked = append(walked, i)
		}
	}
	slices.SortStableFunc(walked, func(a, b int) int { return len(s.table[a].Root) - len(s.table[b].Root) })
	kept := map[mounts.Device][]int{}
	var all []int
	for _, i := range walked {
		device := mounts.DeviceOf(s.table[i])
		if !slices.ContainsFunc(kept[device], func(by int) bool { return s.shows(s.table[by], s.table[i]) }) {
			kept[device], all = append(kept[device], i), append(all, i)
		}
	}
	slices.Sort(all)
	list := make([]*mountinfo.Info, len(all))
	for n, i := range all {
		list[n] = s.table[i]
	}
	return list
}

// isWalked says whether a walk may begin at a mount: it keeps files and is on top of what is at its point.
func (s shown) isWalked(i int) bool {
	t := s.table[i]
	nosuid := mounts.HasOption(t.Options, "nosuid")
	switch point := t.Mountpoint; {
	case point == "" || !keepsFiles(t) || !sameFiles(s.table[s.last[point]], t) || s.hidden(i):
		return false
	case point == "/":
		return s.system || !nosuid
	case isBelowAny(point, containerStorage):
		return false
	case s.system:
		return isSystemPath(point)
	default:
		return !nosuid
	}
}

// countFar counts what keeps files where no walk comes. It is in a directory of a user, who moves such a place away
// from the directories of the system.
func countFar(table []*mountinfo.Info) (n int) {
	for _, t := range table {
		if t.Mountpoint == "" && keepsFiles(t) && !mounts.HasOption(t.Options, "nosuid") {
			n++
		}
	}
	return n
}

// whose says whose doing a mount is.
func whose(t *mountinfo.Info) filetree.Mount {
	if mounts.IsFUSE(t) && mounts.Mounter(t) != 0 {
		return filetree.OfUser
	}
	return filetree.OfSystem
}

// ofSystem returns the mounts that are not of users.
func ofSystem(table []*mountinfo.Info) []*mountinfo.Info {
	return slices.DeleteFunc(slices.Clone(table), func(t *mountinfo.Info) bool { return whose(t) == filetree.OfUser })
}

// missing returns what is in all and not in some.
func missing(all, some []string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return slices.Contains(some, one) })
}

// hidden says whether something was mounted later over a folder that leads to the mount.
func (s shown) hidden(i int) bool {
	for at := s.table[i].Mountpoint; at != "/"; {
		at = path.Dir(at)
		if over, is := s.last[at]; is && over > i {
			return true
		}
	}
	return false
}

// shows says whether the files of t are seen where the mount by has them: not in a folder that is not entered, and
// with nothing mounted over them. What is mounted over parts of the root file system is of the system.
func (s shown) shows(by, t *mountinfo.Info) bool {
	if t.Root == "" || by.Root == "" || !isBelow(t.Root, by.Root) {
		return false
	}
	place := path.Join(by.Mountpoint, strings.TrimPrefix(t.Root, strings.TrimSuffix(by.Root, "/")))
	for at := place; at != by.Mountpoint; at = path.Dir(at) {
		if _, over := s.last[at]; over || isBelowAny(at, containerStorage) || s.system && !isSystemPath(at) {
			return false
		}
	}
	return (by.Mountpoint == "/" || !s.mountedBelow(place)) && !s.closed(place)
}

func (s shown) mountedBelow(place string) bool {
	prefix := strings.TrimSuffix(place, "/") + "/"
	at, _ := slices.BinarySearch(s.points, prefix)
	return at < len(s.points) && strings.HasPrefix(s.points[at], prefix)
}

// sameFiles says whether two mounts show the same directory of the same file system.
func sameFiles(a, b *mountinfo.Info) bool {
	return mounts.DeviceOf(a) == mounts.DeviceOf(b) && a.Root == b.Root
}
