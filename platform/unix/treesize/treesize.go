// SPDX-License-Identifier: Apache-2.0

// Package treesize adds up what the files below a directory occupy, as du(1) does: allocated bytes,
// on one file system, without following a link and without opening anything but directories. It
// keeps the largest directories and files alone, so that its memory does not grow with the tree, and
// ends at bounds of time and of entries, with what it has by then. docs/decisions says why this is not
// the walk of the audit.
package treesize

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sentinel/internal/diskusage"
	"sentinel/platform/unix/stuck"
	"sentinel/platform/unix/workerpool"
)

// Options say where to look and how far.
type Options struct {
	// Root is the directory that all paths are below; "/" on a live system.
	Root string
	// Dir is the directory to add up, "/var". It must be a directory and no link may be on the way to it.
	Dir string
	// Skip are the mount points below Dir. They are not even stat'ed: what is mounted there may be a
	// server that never answers.
	Skip []string
	// Watch are directories whose sizes are wanted, however small they are.
	Watch []string
	// Entries bounds how many files and directories are looked at.
	Entries int64
	// Seen counts them meanwhile; it may be nil.
	Seen *atomic.Int64
}

// How much is kept.
const (
	maxBranches  = 300 // of each order
	maxFiles     = 100
	maxElsewhere = 20
	// maxKnown bounds how many directories are known of and not complete, which take up to half a kilobyte each.
	maxKnown = 250_000
)

// Why a walk ended early.
const (
	outOfTime    = "the time for it was over"
	tooManyFiles = "there are more files than are looked at"
	tooManyKnown = "more directories are in one another than are kept"
	tooManyStuck = "too many directories do not answer"
)

// Walk adds up a directory. It ends with ctx, and then returns what it has; only to find the directory itself may
// take for ever. The error says why that cannot be read: a [diskusage.ErrLink] where a link is on the way to it,
// [diskusage.ErrNotDirectory] where it is none.
func Walk(ctx context.Context, o Options) (diskusage.Tree, error) {
	root, err := openStart(o.Root, strings.TrimPrefix(o.Dir, "/"))
	if err != nil {
		return diskusage.Tree{}, err
	}
	w := newWalk(o, root)
	first, err := w.begin()
	if err != nil {
		root.close()
		return diskusage.Tree{}, err
	}
	w.run(ctx, first)
	return w.tree(), nil
}

// A walk is under way. What is read of directories is added by one goroutine at a time.
type walk struct {
	Options
	skip          map[string]bool            // mount points: "/a/b" is below Dir
	mounted       map[string]map[string]bool // their names, by the directories that they are in
	watch         map[string]string
	longest       int // of all these, in bytes
	root          handle
	device, mount uint64
	held          atomic.Int64 // directories
	out           atomic.Int64 // who is stuck, less who came back too late
	entries       atomic.Int64
	leastFile     atomic.Uint64 // no smaller file is kept
	stopped       atomic.Bool   // a bound is reached
	noted         bool          // other runs wait for some directories
	end           func()        // has what is not read yet left out

	known, most        int // directories that are not complete, and how many may be
	links              links
	bytes              uint64
	directories        int64
	bySize, byEntries  ranking[*directory]
	files              ranking[bigFile]
	watched            map[string]diskusage.Branch
	elsewhere          []place
	elsewheres         int
	unreadable, failed int64
	failedAt           *directory // the first that could not be read whole
	moved              int64
	movedFrom          *directory   // the first of these was found
	stuck              []*directory // that did not answer
	unread             int64
	bound              string
}

func newWalk(o Options, root handle) *walk {
	w := &walk{
		Options: o, root: root, end: func() {}, most: maxKnown, skip: map[string]bool{}, mounted: map[string]map[string]bool{}, watch: map[string]string{},
		watched:   map[string]diskusage.Branch{},
		bySize:    ranking[*directory]{most: maxBranches, size: func(d *directory) uint64 { return d.bytes }},
		byEntries: ranking[*directory]{most: maxBranches, size: func(d *directory) uint64 { return uint64(d.entries) }},
		files:     ranking[bigFile]{most: maxFiles, size: func(f bigFile) uint64 { return f.bytes }},
	}
	for _, point := range o.Skip {
		if below, ok := w.below(point); ok {
			w.leaveAlone(below)
		}
	}
	for _, dir := range o.Watch {
		if below, ok := w.below(dir); ok {
			w.watch[below] = dir
			w.longest = max(w.longest, len(below))
		}
	}
	return w
}

// leaveAlone notes a mount point.
func (w *walk) leaveAlone(below string) {
	w.skip[below] = true
	w.longest = max(w.longest, len(below))
	end := strings.LastIndexByte(below, '/')
	if w.mounted[below[:end]] == nil {
		w.mounted[below[:end]] = map[string]bool{}
	}
	w.mounted[below[:end]][below[end+1:]] = true
}

// below returns a path without that of the directory that is walked, if it is in it: "/a/b".
func (w *walk) below(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(w.Dir, "/"))
	return rest, ok && len(rest) > 1 && rest[0] == '/'
}

// at returns the path of a place.
func (w *walk) at(p place) string {
	name := strings.TrimSuffix(w.Dir, "/") + p.in.where.String()
	if p.name != "" {
		name += "/" + p.name
	}
	return cmp.Or(name, "/")
}

// begin looks at the directory itself.
func (w *walk) begin() (*directory, error) {
	self, err := w.root.self()
	if err != nil {
		return nil, err
	}
	w.device, w.mount = self.device, self.mount
	return &directory{pending: 1}, nil
}

// run reads with two goroutines a processor: one waits for the disk while the other works.
func (w *walk) run(ctx context.Context, first *directory) {
	bounded, stop := context.WithCancel(ctx)
	defer stop()
	w.end, w.noted = stop, stuck.AnyDirectory(w.Root)
	context.AfterFunc(bounded, func() { w.stopped.Store(true) })
	pool := workerpool.Pool[*directory, found]{Read: w.read, Add: w.add, Late: w.late, Note: w.note, Workers: min(2*runtime.GOMAXPROCS(0), 8)}
	left, out := pool.Run(bounded, first)
	for _, d := range left {
		d.open.close()
		w.release(d.child)
		w.bound = cmp.Or(w.bound, why(ctx))
	}
	for _, d := range slices.Concat(left, out) {
		d.atLeast = true
		w.complete(d)
	}
	w.unread, w.stuck = w.unread+int64(len(left)), append(w.stuck, out...)
	w.closeAfter(len(out))
}

// closeAfter lets go of the directory once nobody reads in it: those who are stuck come back or do not.
func (w *walk) closeAfter(more int) {
	if w.out.Add(int64(more)) == 0 {
		w.root.close()
	}
}

// why says what left directories unread, but for a bound of number.
func why(ctx context.Context) string {
	if ctx.Err() != nil {
		return outOfTime
	}
	return tooManyStuck
}

func (w *walk) note(d *directory) (forget func()) {
	return stuck.Note(w.Root, stuck.Thing(d.thing.Load()))
}

// late lets go of what a reading found after the end.
func (w *walk) late(_ *directory, f found) {
	f.open.close()
	for _, c := range f.directories {
		w.release(c)
	}
	w.closeAfter(-1)
}

// add takes over what one reading of a directory found, and returns what is to be read next.
func (w *walk) add(d *directory, f found) (next []*directory) {
	total := w.entries.Add(f.entries)
	if w.Seen != nil {
		w.Seen.Store(total)
	}
	d.held = handle{} // who entered it let go of it
	w.record(d, f)
	if f.open != (handle{}) {
		d.open = f.open
		next = append(next, d)
	}
	for _, c := range f.directories {
		next = w.await(next, d, c)
	}
	if f.open == (handle{}) {
		w.complete(d)
	}
	if total > w.Entries {
		w.bound = cmp.Or(w.bound, tooManyFiles)
		w.end()
	}
	return next
}

// await adds a directory that was found in d to those that are to be read, if there are not too many.
func (w *walk) await(next []*directory, d *directory, c child) []*directory {
	if w.known >= w.most {
		w.release(c)
		d.atLeast = true
		w.unread++
		w.bound = cmp.Or(w.bound, tooManyKnown)
		return next
	}
	w.known++
	d.pending++
	return append(next, d.in(c))
}

// record takes over the sums.
func (w *walk) record(d *directory, f found) {
	d.bytes += f.bytes
	d.entries += f.entries
	d.watched = d.watched || f.watched
	w.bytes += f.bytes
	if f.began && f.err == nil {
		w.directories++
	}
	files := f.files
	for _, l := range f.linked {
		whole, share := w.links.add(l)
		w.bytes += whole
		d.bytes += share
		if whole > 0 {
			files = append(files, l.file...)
		}
	}
	for _, file := range files {
		w.files.add(file)
	}
	w.leastFile.Store(w.files.least())
	for _, p := range f.elsewhere {
		w.leaveOut(p)
	}
	w.fail(d, f)
}

// leaveOut notes where another file system begins.
func (w *walk) leaveOut(p place) {
	w.elsewheres++
	if len(w.elsewhere) < maxElsewhere {
		w.elsewhere = append(w.elsewhere, p)
	}
}

// fail takes over what could not be read.
func (w *walk) fail(d *directory, f found) {
	before := w.failed
	w.failed += f.failed
	d.atLeast = d.atLeast || f.failed > 0
	switch {
	case f.err == nil || gone(f.err):
	case errors.Is(f.err, errElsewhere):
		w.leaveOut(place{in: d})
	case errors.Is(f.err, errMoved):
		if w.moved++; w.moved == 1 {
			w.movedFrom = d
		}
		d.atLeast = true
	case errors.Is(f.err, stuck.ErrEarlier):
		w.stuck = append(w.stuck, d)
		d.atLeast = true
	case errors.Is(f.err, fs.ErrPermission):
		w.unreadable++
		d.atLeast = true
	default:
		w.failed++
		d.atLeast = true
	}
	if before == 0 && w.failed > 0 {
		w.failedAt = d
	}
}

// complete ends a directory, and those that it is the last missing part of.
func (w *walk) complete(d *directory) {
	for ; d != nil; d = d.parent {
		if d.pending--; d.pending > 0 {
			return
		}
		w.rank(d)
		if up := d.parent; up != nil {
			w.known--
			up.bytes += d.bytes
			up.entries += d.entries
			up.largestBytes = max(up.largestBytes, d.bytes)
			up.largestEntries = max(up.largestEntries, d.entries)
			up.atLeast = up.atLeast || d.atLeast
		}
	}
}

// rank keeps a directory if it is large.
func (w *walk) rank(d *directory) {
	if d.parent == nil {
		return
	}
	w.bySize.add(d)
	w.byEntries.add(d)
	if d.watched {
		b := w.branch(d)
		w.watched[b.Path] = b
	}
}

// branch is what is told of a directory.
func (w *walk) branch(d *directory) diskusage.Branch {
	return diskusage.Branch{Path: w.at(place{in: d}), Bytes: d.bytes, Entries: d.entries, AtLeast: d.atLeast, LargestBytes: d.largestBytes, LargestEntries: d.largestEntries}
}

// foundFile is what is told of a file.
func (w *walk) foundFile(f bigFile) diskusage.FoundFile {
	return diskusage.FoundFile{Path: w.at(f.place), Bytes: f.bytes, Size: f.size, Modified: time.Unix(f.modified, 0)}
}

func (w *walk) tree() diskusage.Tree {
	path := func(b diskusage.Branch) string { return b.Path }
	t := diskusage.Tree{
		Bytes: w.bytes, Entries: w.entries.Load() + 1, Directories: w.directories,
		BySize:    largestFirst(each(w.bySize.list, w.branch), func(b diskusage.Branch) uint64 { return b.Bytes }, path),
		ByEntries: largestFirst(each(w.byEntries.list, w.branch), func(b diskusage.Branch) uint64 { return uint64(b.Entries) }, path),
		Files:     largestFirst(each(w.files.list, w.foundFile), func(f diskusage.FoundFile) uint64 { return f.Bytes }, func(f diskusage.FoundFile) string { return f.Path }),
		Watched:   w.watched, Elsewhere: each(w.elsewhere, w.at), Elsewheres: w.elsewheres,
		Unreadable: w.unreadable, Failed: w.failed, Moved: w.moved, Unread: w.unread, Bound: w.bound,
		ManyLinks: w.links.files >= maxLinks, Stuck: int64(len(w.stuck)),
	}
	if len(w.stuck) > 0 {
		t.StuckAt = w.at(place{in: w.stuck[0]})
	}
	if w.failedAt != nil {
		t.FailedAt = w.at(place{in: w.failedAt})
	}
	if w.movedFrom != nil {
		t.MovedFrom = w.at(place{in: w.movedFrom})
	}
	return t
}
