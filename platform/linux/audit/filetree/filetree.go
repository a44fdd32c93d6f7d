// SPDX-License-Identifier: Apache-2.0

// Package filetree visits every file of a file system without touching any of
// them: directories are opened and listed, everything else is only looked at with
// fstatat(2). The walk follows no symbolic link, stays on its mount, and stops at a
// bound of time and of entries. docs/decisions/0024-tree-walk.md says why this is not
// filepath.WalkDir.
package filetree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sentinel/platform/unix/stuck"
	"sentinel/platform/unix/workerpool"
)

// An Entry is what is known of a regular file or a directory. Other kinds of
// files are not reported.
type Entry struct {
	Mode     uint32 // st_mode of inode(7)
	UID, GID uint32
	Inode    uint64 // its number in its file system
	// Closed says that only [Tree.Owner] gets to it: it is below a directory of theirs that lets nobody else in.
	Closed bool
}

// The bits of st_mode that matter here, inode(7).
const (
	KindMask  = 0o170000
	Directory = 0o040000
	Regular   = 0o100000
	SetUID    = 0o4000
	SetGID    = 0o2000
	Sticky    = 0o1000
	OthersW   = 0o0002
)

// Is says whether the entry is of a kind, Directory or Regular.
func (e Entry) Is(kind uint32) bool { return e.Mode&KindMask == kind }

// A Tree says where to look and how far.
type Tree struct {
	// Root is the directory that the paths of Start are below; "/" on a live system.
	Root string
	// Start are directories, "/usr". Each is followed on its own mount alone.
	Start []string
	// Skip says of a directory below a start that it is left out. Such a directory is not even stat'ed. It is called
	// from several goroutines, and for no path that is longer than the kernel takes.
	Skip func(path string) bool
	// Mounted is what the table of mounts has, by path. What is mounted is not looked at: it may be a
	// server that never answers. The directory below it is entered where a user has mounted it, or owns that directory;
	// where it cannot be seen, what a user has mounted counts as unseen.
	Mounted map[string]Mount
	// Owner is the number of root.
	Owner uint32
	// Reachable leaves out what only Owner gets to.
	Reachable bool
	// Entries bounds how many files and directories are looked at.
	Entries int64
}

// A Mount says whose doing is what is mounted at a path.
type Mount int

// What is mounted at a path.
const (
	Nothing Mount = iota
	OfSystem
	OfUser
)

// A Sum says how much was seen.
type Sum struct {
	Entries int64
	// Unseen counts the directories and files that could not be read, or were too many to wait for that.
	Unseen int64
	// UnseenAt is the first of these directories, or what one of these files is in.
	UnseenAt string
	// Stuck counts the directories that did not answer: their disk is gone, or a user keeps them from being read.
	Stuck int64
	// StuckAt is one of them, and StuckOwner whose it is, -1 where that is not known.
	StuckAt    string
	StuckOwner int64
	// Cut says that a bound of time or of entries was reached.
	Cut bool
}

// Whole says whether everything was seen.
func (s Sum) Whole() bool { return s.Unseen == 0 && s.Stuck == 0 && !s.Cut }

// A Visit looks at a file or a directory, and returns what is to be done with what it saw, or nil. It is called by
// several goroutines at once and in no order, and may wait for ever; what it returns is called by one at a time, and not
// after the walk has ended. fd is the directory that the file is in, open while it runs, or -1 for a starting
// directory: by the path a user could lead elsewhere by then.
type Visit func(fd int, p Place, e Entry) (keep func())

// Walk visits each regular file and directory of t, the starting directories included. It ends with ctx, and without
// what does not answer.
func Walk(ctx context.Context, t Tree, visit Visit) Sum {
	w := &walk{Tree: t, visit: visit, most: maxWaiting}
	w.listPoints()
	w.noted = stuck.AnyDirectory(t.Root)
	// Two goroutines a processor: one waits for the disk while the other works.
	return w.run(ctx, min(2*runtime.GOMAXPROCS(0), 16))
}

type walk struct {
	Tree
	visit   Visit
	points  map[string]map[string]Mount // by directory and name
	longest int                         // of the paths of these directories
	noted   bool                        // other runs wait for some directories
	entries atomic.Int64
	waiting atomic.Int64 // directories that are known of, with what is in them not read to its end
	most    int64        // of these
	cut     atomic.Bool

	mu    sync.Mutex // guards what is kept, and all below
	sum   Sum
	ended bool
}

// run reads with a number of goroutines.
func (w *walk) run(ctx context.Context, workers int) Sum {
	var starts []*directory
	for _, path := range slices.Backward(w.Start) { // the last is read first
		w.waiting.Add(1)
		starts = append(starts, newDirectory(&beginning{path: path}))
	}
	pool := workerpool.Pool[*directory, []*directory]{
		Read:    func(s *workerpool.Steps, d *directory) []*directory { return w.read(ctx, s, d) },
		Add:     func(d *directory, found []*directory) []*directory { w.complete(d); return found },
		Late:    func(d *directory, found []*directory) { w.complete(append(found, d)...) },
		Note:    func(d *directory) func() { return stuck.Note(w.Root, d.thing()) },
		Workers: workers,
	}
	left, out := pool.Run(ctx, starts...)
	w.complete(left...)
	for _, d := range out {
		w.giveUp(d)
	}
	return w.end(len(left) > 0)
}

// end returns what was seen by now. Whoever is stuck adds nothing to that any more.
func (w *walk) end(early bool) Sum {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	sum := w.sum
	sum.Entries, sum.Cut = min(w.entries.Load(), w.Entries), early || w.cut.Load()
	w.cut.Store(true)
	return sum
}

// giveUp counts a directory that does not answer.
func (w *walk) giveUp(d *directory) {
	w.keep(func() {
		if w.sum.Stuck++; w.sum.Stuck == 1 {
			w.sum.StuckAt, w.sum.StuckOwner = Place{d, ""}.Path(), d.owner
		}
	})
}

// keep does something with what was seen, as long as that is wanted.
func (w *walk) keep(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		do()
	}
}

func (w *walk) show(fd int, p Place, e Entry) {
	if do := w.visit(fd, p, e); do != nil {
		w.keep(do)
	}
}

// listPoints sorts what is mounted by the directory that it is in: one look-up tells of all that is there.
func (w *walk) listPoints() {
	w.points = map[string]map[string]Mount{}
	for path, mount := range w.Mounted {
		dir, name := filepath.Split(path)
		if w.points[dir] == nil {
			w.points[dir] = map[string]Mount{}
		}
		w.points[dir][name] = mount
		w.longest = max(w.longest, len(dir))
	}
}

// pointsIn returns what is mounted in a directory. The path of one that is further down than all these is not made.
func (w *walk) pointsIn(d *directory) map[string]Mount {
	if d.Len() > w.longest {
		return nil
	}
	return w.points[strings.TrimSuffix(d.begin.path, "/")+d.From(0)+"/"]
}

// maxWaiting bounds how many directories are known of at a time, which take up to a kilobyte each.
const maxWaiting = 200_000

// miss counts what could not be read at a place.
func (w *walk) miss(p Place) {
	w.keep(func() {
		if w.sum.Unseen++; w.sum.Unseen == 1 {
			w.sum.UnseenAt = p.Path()
		}
	})
}

// complete ends directories that were read, and those that they are the last missing part of.
func (w *walk) complete(list ...*directory) {
	for _, d := range list {
		for ; d != nil && d.pending.Add(-1) == 0; d = d.above {
			w.waiting.Add(-1)
			if d.above == nil {
				d.begin.close()
			}
		}
	}
}

// start begins at a directory, or looks at a file that is mounted. What does not exist, or is a symbolic link, is
// passed over: what the link leads to is on some other start's list.
func (w *walk) start(ctx context.Context, s *workerpool.Steps, d *directory) []*directory {
	path := d.begin.path
	if _, _, err := d.begin.way.Follow(w.Root, path); errors.Is(err, stuck.ErrEarlier) {
		w.giveUp(d)
		return nil
	}
	d = newDirectory(&beginning{path: path})
	f, err := openDir(unix.AT_FDCWD, filepath.Join(w.Root, path), &d.stat)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, unix.ENOTDIR):
		w.file(ctx, s, path)
	case err != nil:
		w.miss(Place{d, ""})
	default:
		d.owner = int64(d.stat.Uid)
		d.begin.dir, d.begin.bare = bare(f)
		_, d.begin.mount, _ = handleOf(int(d.begin.dir.Fd()), "") //nolint:errcheck // then it is unknown
		return w.from(ctx, s, d)
	}
	return nil
}

// file looks at a file that is mounted over another one, which a walk without mounts sees instead.
func (w *walk) file(ctx context.Context, s *workerpool.Steps, path string) {
	if w.Mounted[path] == Nothing {
		return
	}
	dir := filepath.Dir(path)
	d := newDirectory(&beginning{path: dir})
	p := Place{d, filepath.Base(path)}
	f, err := openDir(unix.AT_FDCWD, filepath.Join(w.Root, dir), &d.stat)
	if err != nil {
		w.miss(p)
		return
	}
	defer f.Close() //nolint:errcheck // only read from
	if !copies(f) || !w.count(ctx, s) {
		return
	}
	d.closed, _ = OnlyOwner(w.Root, dir, w.Owner) //nolint:errcheck // then it is not known to be
	var st unix.Stat_t
	err = ignoringEINTR(func() error { return unix.Fstatat(int(f.Fd()), p.Name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch e := d.entryOf(&st); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.miss(p)
	case e.Is(Regular):
		w.show(int(f.Fd()), p, e)
	}
}

// from visits a starting directory, and has it read.
func (w *walk) from(ctx context.Context, s *workerpool.Steps, d *directory) []*directory {
	w.waiting.Add(1)
	if !w.count(ctx, s) {
		w.complete(d)
		return nil
	}
	d.closed, _ = OnlyOwner(w.Root, d.begin.path, w.Owner) //nolint:errcheck // then it is not known to be
	w.show(-1, Place{d, ""}, d.entryOf(&d.stat))
	return []*directory{d}
}

// count says whether one more entry may be looked at.
func (w *walk) count(ctx context.Context, s *workerpool.Steps) bool {
	s.Take()
	if w.cut.Load() {
		return false
	}
	if ctx.Err() != nil || w.entries.Add(1) > w.Entries {
		w.cut.Store(true)
		return false
	}
	return true
}

// batch is how many names are read at a time.
const batch = 1024

// read looks at everything in d and returns the directories in it, or opens a start.
func (w *walk) read(ctx context.Context, s *workerpool.Steps, d *directory) (found []*directory) {
	if d.begin.dir == nil {
		return w.start(ctx, s, d)
	}
	if w.noted && stuck.Noted(w.Root, d.thing()) {
		w.giveUp(d)
		return nil
	}
	if w.cut.Load() {
		return nil
	}
	f, err := w.open(ctx, s, d)
	if err != nil {
		w.miss(Place{d, ""})
	}
	if f == nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	d.points = w.pointsIn(d)
	defer func() { d.prefix, d.points = "", nil }()
	if w.enters(d, f); d.closed && w.Reachable {
		return nil
	}
	for {
		list, err := f.ReadDir(batch) // an error, or the end, comes with an empty list
		for _, one := range list {
			if !w.count(ctx, s) {
				return found
			}
			if one.IsDir() || one.Type().IsRegular() {
				found = w.look(d, int(f.Fd()), one, found)
			}
		}
		if len(list) == 0 {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) {
				w.miss(Place{d, ""})
			}
			return found
		}
	}
}

// enters notes whether others may enter d, which is open as f.
func (w *walk) enters(d *directory, f *os.File) {
	if d.above != nil {
		d.closed = d.above.closed || letsInOnly(w.Owner, int(f.Fd()), &d.stat)
	}
}

// look judges one name in the directory that is open as fd, and adds it to found when it is a
// directory to enter.
func (w *walk) look(d *directory, fd int, one fs.DirEntry, found []*directory) []*directory {
	if one.IsDir() && w.skips(d.pathOf(one.Name())) {
		return found
	}
	over := d.points[one.Name()]
	if over != Nothing && !d.begin.bare && (one.IsDir() || over == OfUser) {
		if over == OfUser {
			w.miss(Place{d, one.Name()})
		}
		return found
	}
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(fd, one.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch e := d.entryOf(&st); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.miss(Place{d, ""})
	case e.Is(Regular) && !one.IsDir():
		w.show(fd, Place{d, one.Name()}, e)
	case e.Is(Directory) && one.IsDir():
		if over != OfSystem || st.Uid != w.Owner {
			return w.found(d.in(one.Name(), st), fd, found)
		}
	default: // something else was put there since it was listed
		w.miss(Place{d, ""})
	}
	return found
}

// skips says that a directory is left out.
func (w *walk) skips(path string) bool { return path != "" && w.Skip != nil && w.Skip(path) }

// found visits a directory, and adds it to what is to be entered. A subvolume has a device number of its own and is
// on the same mount. What is on another one was mounted meanwhile, and hides what is below.
func (w *walk) found(sub *directory, fd int, found []*directory) []*directory {
	handle, mount, err := handleOf(fd, sub.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return found
	}
	elsewhere := sub.stat.Dev != sub.above.stat.Dev
	if mount != unknown && sub.begin.mount != unknown {
		elsewhere = mount != sub.begin.mount
	}
	if elsewhere {
		w.miss(Place{sub, ""})
		return found
	}
	sub.handle = handle
	w.show(fd, Place{sub.above, sub.Name}, sub.above.entryOf(&sub.stat))
	if w.waiting.Add(1) > w.most {
		w.waiting.Add(-1)
		w.miss(Place{sub, ""})
		return found
	}
	sub.above.pending.Add(1)
	return append(found, sub)
}

func (d *directory) entryOf(st *unix.Stat_t) Entry {
	return Entry{Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid, Inode: st.Ino, Closed: d.closed} //nolint:unconvert // 16 bits on macOS
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
