// SPDX-License-Identifier: Apache-2.0

package diskusage

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

// Rows of the lists unless more is asked for.
const (
	maxFolders   = 12
	maxFiles     = 10
	maxByEntries = 5
	maxDeleted   = 8
	maxGrown     = 8
	maxSkipped   = 8
	maxSnapshots = 10
)

const (
	maxPath = 160 // runes of a path that is shown
	// mostly is the share that makes a directory stand for the one that it is in, in percent.
	mostly = 80
	// leastCache is the size of a cache that is worth a row.
	leastCache = 1 << 20
)

// shown makes a path harmless.
func shown(path string) string { return sanitize.Text(path, maxPath) }

// quoted is a path in a sentence.
func quoted(path string) string { return sanitize.Quoted(path, maxPath) }

func (o Options) rows(normal int) int {
	switch {
	case o.Rows < 0:
		return normal
	case o.Rows == 0:
		return math.MaxInt
	default:
		return o.Rows
	}
}

// usage builds the answer.
func (m *measurement) usage(o Options) Usage {
	t := m.tree
	u := Usage{
		Path: shown(m.place.Path), Bytes: t.Bytes, Entries: t.Entries, Complete: t.Complete(), DirectoriesTotal: t.Directories,
		Directories: []Folder{}, Files: []File{}, ByEntries: []Folder{}, DeletedOpen: []Open{}, Caches: []Cached{}, NotEntered: []Skipped{}, Unavailable: answer.Gaps{},
	}
	u.addFileSystem(m.place.FileSystem)
	u.addDirectories(t, o)
	u.addFiles(t.Files, o)
	u.addDeleted(m, o)
	u.addCaches(m.caches, t)
	u.addSkipped(m, o)
	u.addSnapshots(m, o)
	u.addOther(m)
	u.noteUnseen(m)
	u.addGaps(m)
	u.compareAndKeep(t, o)
	return u
}

func (u *Usage) addFileSystem(f Mounted) {
	u.FileSystem = FileSystem{Mountpoint: shown(f.Mountpoint), Device: sanitize.Text(f.Device, 128), Type: sanitize.Text(f.Type, 32)}
	if f.Err != nil {
		u.Unavailable.Add("filesystem.used_bytes", f.Err)
		return
	}
	u.FileSystem.SizeBytes, u.FileSystem.UsedBytes, u.FileSystem.AvailableBytes = &f.Size, &f.Used, &f.Available
	if f.Inodes > 0 {
		percent := math.Round(1000*float64(f.InodesUsed)/float64(f.Inodes)) / 10
		u.FileSystem.InodesUsedPercent = &percent
	}
}

// addDirectories lists where most bytes and most entries are. A directory that has nearly all of its
// own in one directory in it only leads there.
func (u *Usage) addDirectories(t Tree, o Options) {
	for _, b := range t.BySize {
		if 100*float64(b.LargestBytes) < mostly*float64(b.Bytes) {
			u.Directories = append(u.Directories, folderOf(b))
		}
	}
	for _, b := range t.ByEntries {
		if 100*float64(b.LargestEntries) < mostly*float64(b.Entries) {
			u.ByEntries = append(u.ByEntries, folderOf(b))
		}
	}
	u.Directories = cut(u, u.Directories, o.rows(maxFolders))
	u.ByEntries = cut(u, u.ByEntries, o.rows(maxByEntries))
}

func folderOf(b Branch) Folder {
	return Folder{Path: shown(b.Path), Bytes: b.Bytes, Entries: b.Entries, AtLeast: b.AtLeast}
}

// cut bounds a list and notes that it did.
func cut[T any](u *Usage, list []T, rows int) []T {
	if len(list) <= rows {
		return list
	}
	u.Truncated = true
	return list[:rows]
}

func (u *Usage) addFiles(list []FoundFile, o Options) {
	for _, f := range list {
		row := File{Path: shown(f.Path), Bytes: f.Bytes, Modified: timespec.Format(f.Modified)}
		if f.Size/2 > f.Bytes {
			row.SizeBytes = f.Size
		}
		u.Files = append(u.Files, row)
	}
	u.Files = cut(u, u.Files, o.rows(maxFiles))
}

func (u *Usage) addDeleted(m *measurement, o Options) {
	if m.deletedErr != nil {
		u.Unavailable.Add("deleted_open", m.deletedErr)
		return
	}
	var total uint64
	list := slices.SortedFunc(slices.Values(m.deleted.Files), func(a, b DeletedFile) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Path, b.Path))
	})
	for _, f := range list {
		total += f.Bytes
		row := Open{PID: f.PID, Process: sanitize.Text(f.Process, 64), Unit: sanitize.Text(f.Unit, 96), Path: shown(f.Path), Bytes: f.Bytes}
		if f.Holders > 1 {
			row.Holders = f.Holders
		}
		u.DeletedOpen = append(u.DeletedOpen, row)
	}
	count := len(list)
	u.DeletedOpenTotal, u.DeletedOpenBytes = &count, &total
	u.DeletedOpen = cut(u, u.DeletedOpen, o.rows(maxDeleted))
	u.Unavailable = append(u.Unavailable, m.deleted.Gaps...)
}

func (u *Usage) addCaches(caches []Cache, t Tree) {
	for _, c := range caches {
		if b, found := t.Watched[c.Path]; found && b.Bytes >= leastCache {
			u.Caches = append(u.Caches, Cached{Name: c.Name, Path: c.Path, Bytes: b.Bytes, AtLeast: b.AtLeast, Free: c.Free})
		}
	}
	slices.SortStableFunc(u.Caches, func(a, b Cached) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// addSkipped names what is not counted because it is somewhere else. What holds no files on a disk
// is left out.
func (u *Usage) addSkipped(m *measurement, o Options) {
	mounted := map[string]bool{}
	for _, b := range m.place.Below {
		mounted[b.Path] = true
		if b.Holds {
			u.NotEntered = append(u.NotEntered, Skipped{shown(b.Path), sanitize.Text(b.FileSystem, 32)})
		}
	}
	more := m.tree.Elsewheres - len(m.tree.Elsewhere)
	for _, p := range m.tree.Elsewhere {
		if !mounted[p] {
			u.NotEntered = append(u.NotEntered, Skipped{Path: shown(p)})
		}
	}
	u.NotEnteredTotal = len(u.NotEntered) + max(0, more)
	u.NotEntered = cut(u, u.NotEntered, o.rows(maxSkipped))
}

func (u *Usage) addSnapshots(m *measurement, o Options) {
	u.Unavailable.Add("snapshots", m.snapshotsErr)
	for _, s := range m.snapshots {
		u.Snapshots = append(u.Snapshots, sanitize.Text(s, 96))
	}
	u.Snapshots = cut(u, u.Snapshots, o.rows(maxSnapshots))
}

// addOther tells what is used and was not found, where everything that can be found was looked at.
func (u *Usage) addOther(m *measurement) {
	f := m.place.FileSystem
	if !m.place.Whole || !u.Complete || f.Err != nil || f.SharesSpace || u.DeletedOpenBytes == nil || len(m.deleted.Gaps) > 0 {
		return
	}
	other := int64(f.Used) - int64(u.Bytes) - int64(*u.DeletedOpenBytes)
	if other < 0 {
		u.Unavailable.Note("other_bytes", "more was found than is used: files share what they hold, or were removed meanwhile")
		return
	}
	u.OtherBytes = &other
}

// Bounds from which space that no file accounts for is worth a note.
const (
	leastUnseen = 1 << 30
	unseenShare = 10 // percent of what is used
)

// noteUnseen says that snapshots, which were not looked at, may hold what no file accounts for. Where other
// subvolumes share the space that may be theirs, too.
func (u *Usage) noteUnseen(m *measurement) {
	f := m.place.FileSystem
	if f.ListSnapshots == "" || m.place.Path != f.Mountpoint || !u.Complete || f.Err != nil || u.DeletedOpenBytes == nil {
		return
	}
	unseen := int64(f.Used) - int64(u.Bytes) - int64(*u.DeletedOpenBytes)
	if unseen < leastUnseen || 100*float64(unseen) < unseenShare*float64(f.Used) {
		return
	}
	u.Unavailable.Note("snapshots", fmt.Sprintf("%s of what is used belong to no file that was looked at; snapshots or others in the same pool may hold them. Root lists the snapshots with: %s",
		humanize.Bytes(uint64(unseen)), sanitize.Text(f.ListSnapshots, maxPath)))
}

// addGaps says what was not looked at.
func (u *Usage) addGaps(m *measurement) {
	t := m.tree
	var missed []string
	if t.Bound != "" {
		missed = append(missed, fmt.Sprintf("%s, with %s known of and not read", t.Bound, humanize.Count(int(t.Unread), "directory", "directories")))
	}
	if t.Failed > 0 {
		missed = append(missed, humanize.Count(int(t.Failed), "file or directory could", "files or directories could")+" not be read, the first in "+sanitize.Quoted(t.FailedAt, maxPath))
	}
	if len(missed) > 0 {
		u.Unavailable.Note("bytes", strings.Join(missed, "; "))
	}
	if t.Stuck > 0 {
		u.Unavailable.Note("bytes", humanize.Count(int(t.Stuck), "directory does", "directories do")+" not answer, such as "+quoted(t.StuckAt)+
			": a user keeps it from being read by a file system that a process serves (FUSE), or its disk is gone")
	}
	if t.Moved > 0 {
		u.Unavailable.Note("bytes", humanize.Count(int(t.Moved), "directory was", "directories were")+" moved or removed before being read, the first from "+sanitize.Quoted(t.MovedFrom, maxPath))
	}
	if t.Unreadable > 0 {
		u.Unavailable.Note("directories", humanize.Count(int(t.Unreadable), "directory is", "directories are")+" not readable without root")
	}
	if t.ManyLinks {
		u.Unavailable.Note("bytes", "very many files have several names; not all of them were told apart")
	}
	if m.place.Note != "" {
		u.Unavailable.Note("path", m.place.Note)
	}
}

// errNotKept is why an ordinary user is not told what grew.
var errNotKept = errors.New("only runs of root are kept to compare with; as root it tells what grew since the last one")

// Cut bounds every list.
func (u *Usage) Cut(rows int) {
	u.Directories, u.Files, u.ByEntries = cut(u, u.Directories, rows), cut(u, u.Files, rows), cut(u, u.ByEntries, rows)
	u.DeletedOpen, u.Caches, u.Grown = cut(u, u.DeletedOpen, rows), cut(u, u.Caches, rows), cut(u, u.Grown, rows)
	u.NotEntered, u.Snapshots = cut(u, u.NotEntered, rows), cut(u, u.Snapshots, rows)
}
