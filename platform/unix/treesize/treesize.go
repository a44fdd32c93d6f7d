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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sentinel/internal/diskusage"
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

// grace is how long a directory that is being read when the time ends may still take. A read from a
// disk that is gone never ends, and is abandoned.
const grace = 300 * time.Millisecond

// Why a walk ended early.
const (
	outOfTime    = "the time for it was over"
	tooManyFiles = "there are more files than are looked at"
	tooManyKnown = "more directories are in one another than are kept"
)

// Walk adds up a directory. It ends with ctx, and then returns what it has. The error says why the
// directory itself cannot be read: a [diskusage.ErrLink] where a link is on the way to it,
// [diskusage.ErrNotDirectory] where it is none.
func Walk(ctx context.Context, o Options) (diskusage.Tree, error) {
	root, err := openStart(o.Root, strings.TrimPrefix(o.Dir, "/"))
	if err != nil {
		return diskusage.Tree{}, err
	}
	w := newWalk(o, root)
	if err := w.begin(); err != nil {
		root.close()
		return diskusage.Tree{}, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer root.close()
		w.run(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(grace):
			w.abandon()
		}
	}
	return w.tree(), nil
}

// A walk is under way. The mutex guards everything below it.
type walk struct {
	Options
	skip          map[string]bool            // mount points: "/a/b" is below Dir
	mounted       map[string]map[string]bool // their names, by the directories that they are in
	watch         map[string]string
	longest       int // of all these, in bytes
	root          handle
	device, mount uint64
	held          atomic.Int64 // directories
	entries       atomic.Int64
	leastFile     atomic.Uint64 // no smaller file is kept
	stopped       atomic.Bool   // a bound is reached

	mu                 sync.Mutex
	wake               *sync.Cond
	waiting            []*directory // a stack, so that few directories are known of at a time
	reading            map[*directory]bool
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
	movedFrom          *directory // the first of these was found
	unread             int64
	bound              string
	abandoned          bool
}

func newWalk(o Options, root handle) *walk {
	w := &walk{
		Options: o, root: root, most: maxKnown, skip: map[string]bool{}, mounted: map[string]map[string]bool{}, watch: map[string]string{},
		reading: map[*directory]bool{}, watched: map[string]diskusage.Branch{},
		bySize:    ranking[*directory]{most: maxBranches, size: func(d *directory) uint64 { return d.bytes }},
		byEntries: ranking[*directory]{most: maxBranches, size: func(d *directory) uint64 { return uint64(d.entries) }},
		files:     ranking[bigFile]{most: maxFiles, size: func(f bigFile) uint64 { return f.bytes }},
	}
	w.wake = sync.NewCond(&w.mu)
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
func (w *walk) begin() error {
	self, err := w.root.self()
	if err != nil {
		return err
	}
	w.device, w.mount = self.device, self.mount
	w.waiting = []*directory{{pending: 1}}
	return nil
}

// run reads with two goroutines a processor: one waits for the disk while the other works.
func (w *walk) run(ctx context.Context) {
	if ctx.Err() != nil { // AfterFunc would tell it beside the walk, which may be done by then
		w.end(outOfTime)
	}
	stop := context.AfterFunc(ctx, func() { w.end(outOfTime) })
	defer stop()
	var running sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), 8) {
		running.Go(func() {
			r := newReader()
			for d := w.next(); d != nil; d = w.next() {
				w.add(d, w.read(r, d))
			}
		})
	}
	running.Wait()
}

// next returns a directory to read, or nil at the end.
func (w *walk) next() *directory {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.abandoned {
		if w.stopped.Load() {
			w.drop()
		}
		if n := len(w.waiting); n > 0 {
			d := w.waiting[n-1]
			w.waiting[n-1] = nil // or it would be kept when it is complete
			w.waiting = w.waiting[:n-1]
			w.reading[d] = true
			return d
		}
		if len(w.reading) == 0 {
			w.wake.Broadcast()
			return nil
		}
		w.wake.Wait()
	}
	return nil
}

// end has what is not read yet left out.
func (w *walk) end(bound string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop(bound)
}

// stop is [walk.end] where the mutex is held.
func (w *walk) stop(bound string) {
	if w.bound == "" {
		w.bound = bound
	}
	w.stopped.Store(true)
	w.wake.Broadcast()
}

// drop leaves out what waits. The mutex is held.
func (w *walk) drop() {
	for _, d := range w.waiting {
		d.open.close()
		w.release(d.child)
		w.leave(d)
	}
	w.waiting = nil
}

// leave ends a directory that was not read, or not to its end. The mutex is held.
func (w *walk) leave(d *directory) {
	d.atLeast = true
	w.unread++
	w.complete(d)
}

// abandon leaves out what is being read as well. Whoever reads it never ends, or adds nothing any
// more.
func (w *walk) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandoned = true
	w.drop()
	for d := range w.reading {
		w.leave(d)
	}
	w.wake.Broadcast()
}

// add takes over what one reading of a directory found.
func (w *walk) add(d *directory, f found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned {
		f.open.close()
		for _, c := range f.directories {
			w.release(c)
		}
		return
	}
	total := w.entries.Add(f.entries)
	if w.Seen != nil {
		w.Seen.Store(total)
	}
	delete(w.reading, d)
	d.held = handle{} // who entered it let go of it
	w.record(d, f)
	if f.open != (handle{}) {
		d.open = f.open
		w.waiting = append(w.waiting, d)
	}
	for _, c := range f.directories {
		w.await(d, c)
	}
	if f.open == (handle{}) {
		w.complete(d)
	}
	if total > w.Entries {
		w.stop(tooManyFiles)
	}
	w.wake.Broadcast()
}

// await has a directory read that was found in d, if there are not too many. The mutex is held.
func (w *walk) await(d *directory, c child) {
	if w.known >= w.most {
		w.release(c)
		d.atLeast = true
		w.unread++
		w.bound = cmp.Or(w.bound, tooManyKnown)
		return
	}
	w.known++
	d.pending++
	w.waiting = append(w.waiting, d.in(c))
}

// record takes over the sums. The mutex is held.
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

// leaveOut notes where another file system begins. The mutex is held.
func (w *walk) leaveOut(p place) {
	w.elsewheres++
	if len(w.elsewhere) < maxElsewhere {
		w.elsewhere = append(w.elsewhere, p)
	}
}

// fail takes over what could not be read. The mutex is held.
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

// complete ends a directory, and those that it is the last missing part of. The mutex is held.
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

// rank keeps a directory if it is large. The mutex is held.
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
	w.mu.Lock()
	defer w.mu.Unlock()
	path := func(b diskusage.Branch) string { return b.Path }
	t := diskusage.Tree{
		Bytes: w.bytes, Entries: w.entries.Load() + 1, Directories: w.directories,
		BySize:    largestFirst(each(w.bySize.list, w.branch), func(b diskusage.Branch) uint64 { return b.Bytes }, path),
		ByEntries: largestFirst(each(w.byEntries.list, w.branch), func(b diskusage.Branch) uint64 { return uint64(b.Entries) }, path),
		Files:     largestFirst(each(w.files.list, w.foundFile), func(f diskusage.FoundFile) uint64 { return f.Bytes }, func(f diskusage.FoundFile) string { return f.Path }),
		Watched:   w.watched, Elsewhere: each(w.elsewhere, w.at), Elsewheres: w.elsewheres,
		Unreadable: w.unreadable, Failed: w.failed, Moved: w.moved, Unread: w.unread, Bound: w.bound,
		ManyLinks: w.links.files >= maxLinks,
	}
	if w.failedAt != nil {
		t.FailedAt = w.at(place{in: w.failedAt})
	}
	if w.movedFrom != nil {
		t.MovedFrom = w.at(place{in: w.movedFrom})
	}
	return t
}
