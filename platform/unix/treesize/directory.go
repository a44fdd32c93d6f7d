// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sentinel/platform/unix/dirpath"
	"sentinel/platform/unix/stuck"
	"sentinel/platform/unix/workerpool"
)

// A directory is known of and not complete: it, or something below it, is still to be read. Who reads
// it writes nothing in it.
type directory struct {
	parent *directory
	child
	where   dirpath.Dir  // below the directory that is walked
	open    handle       // where reading goes on, for one with many directories in it
	pending int          // itself and the directories in it that are not complete
	thing   atomic.Int64 // what runs call it, once it is open
	watched bool
	sum
}

// in returns a directory that was found in d.
func (d *directory) in(c child) *directory {
	return &directory{parent: d, child: c, where: d.where.In(c.name), pending: 1}
}

// A child is a directory that was found in another one.
type child struct {
	name string
	held handle   // the directory, until it is entered
	seen identity // which one it is, where too many are held; zero where that is not known
}

// A sum is what is known of a directory and everything below it.
type sum struct {
	bytes          uint64
	entries        int64
	largestBytes   uint64 // of the one directory in it with the most
	largestEntries int64
	atLeast        bool
}

// A place is something in a directory, or for "" the directory itself. Its path is made when it is told: those of all
// that is found would take as much memory as users nest directories.
type place struct {
	in   *directory
	name string
}

// A bigFile is one that may be told of.
type bigFile struct {
	place
	bytes, size uint64
	modified    int64 // seconds since 1970
}

// found is what one reading of a directory brings.
type found struct {
	began       bool // it is the first of this directory
	watched     bool
	bytes       uint64
	entries     int64
	directories []child
	elsewhere   []place // files on which others are mounted
	linked      []linked
	files       []bigFile
	failed      int64  // files that could not be looked at
	open        handle // the directory, where it is to be read on
	err         error
}

// errElsewhere says that another file system begins at a directory.
var errElsewhere = errors.New("another file system")

// errMoved says that a directory is not where it was found. It may be anywhere, with all that is in it.
var errMoved = errors.New("it was moved")

// maxFound is about how many files one reading keeps.
const maxFound = 1000

// A listing is a directory that is being read.
type listing struct {
	handle
	of     *directory
	points map[string]bool // the mount points in it
}

var readers = sync.Pool{New: func() any { return newReader() }}

// read reads a directory to its end, or until many directories or files were found in it. Then it is
// to be read on after these: of a tree of any shape only few are known of at a time.
func (w *walk) read(steps *workerpool.Steps, d *directory) (f found) {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	l := listing{d.open, d, w.mounted[w.short(d)]}
	if l.handle == (handle{}) {
		f.began = true
		if l.handle, f.err = w.enter(d, &f); f.err != nil {
			return f
		}
	}
	for {
		state, err := l.batch(r, func(name []byte, kind byte) {
			steps.Take()
			w.look(l, name, kind, &f)
		})
		switch {
		case err != nil || state == atEnd:
			f.err = err
			l.close()
			return f
		case state == fullBuffer && (len(f.directories) > 0 || len(f.linked)+len(f.files) >= maxFound) || w.over(f.entries):
			f.open = l.handle
			return f
		}
	}
}

// nowhere is no path below the directory that is walked.
const nowhere = "//"

// short returns the path of a directory, or nowhere if it is longer than all that are listed as mount points or to be
// watched.
func (w *walk) short(d *directory) string {
	if d.where.Len() > w.longest {
		return nowhere
	}
	return d.where.From(0)
}

// over reports whether a bound is reached.
func (w *walk) over(more int64) bool { return w.stopped.Load() || w.entries.Load()+more > w.Entries }

// enter opens a directory. Mount points are left alone.
func (w *walk) enter(d *directory, f *found) (handle, error) {
	below := w.short(d)
	if w.skip[below] {
		return handle{}, errElsewhere
	}
	_, f.watched = w.watch[below]
	h, err := w.open(d)
	if err != nil {
		return handle{}, err
	}
	self, err := h.self()
	of := stuck.Directory(self.device, self.inode)
	d.thing.Store(int64(of))
	switch {
	case err != nil:
	case w.noted && stuck.Noted(w.Root, of):
		err = stuck.ErrEarlier
	case self.device != w.device:
		err = errElsewhere
	case d.seen != (identity{}) && d.seen != self.identity:
		err = errMoved
	}
	if err != nil {
		h.close()
		return handle{}, err
	}
	f.bytes += self.bytes
	return h, nil
}

// open opens a directory, by its name where it is not held.
func (w *walk) open(d *directory) (handle, error) {
	if d.held != (handle{}) {
		defer w.release(d.child)
		return d.held.openBelow("")
	}
	h, err := w.openByName(d)
	if gone(err) {
		err = errMoved
	}
	return h, err
}

// openByName opens a directory by its path, in pieces that the kernel takes.
func (w *walk) openByName(d *directory) (h handle, err error) {
	through, from := w.root, 0
	for _, piece := range pieces(d) {
		next, err := through.openThrough(piece.where.From(from)[1:])
		if from > 0 {
			through.close()
		}
		if err != nil {
			return handle{}, err
		}
		through, from = next, piece.where.Len()
	}
	if from > 0 {
		defer through.close()
	}
	return through.openBelow(strings.TrimPrefix(d.where.From(from), "/"))
}

// pieces returns the directories on the way to d at which the pieces of its path end, but for the last piece.
func pieces(d *directory) (ends []*directory) {
	end := d
	for at := d; at.parent != nil; at = at.parent {
		if end.where.Len()-at.parent.where.Len() > maxPiece && at != end {
			ends = append(ends, at)
			end = at
		}
	}
	slices.Reverse(ends)
	return ends
}

// maxHeld bounds how many directories are held: a process may have 1024 files open in many places.
const maxHeld = 500

// find holds a directory of the one that is being read until it is entered: whoever moves it meanwhile hides
// nothing, and what was removed is told from what was moved. Of those that are too many it is kept which they
// are. What cannot be opened is found out by its name.
func (w *walk) find(l listing, name []byte) child {
	c := child{name: string(name)}
	if l.points[c.name] {
		return c
	}
	held, err := l.openThrough(c.name)
	if err != nil {
		return c
	}
	if w.held.Add(1) <= maxHeld {
		c.held = held
		return c
	}
	defer w.release(child{held: held})
	if self, err := held.self(); err == nil {
		c.seen = self.identity
	}
	return c
}

// release ends that a directory is held.
func (w *walk) release(c child) {
	if c.held != (handle{}) {
		c.held.close()
		w.held.Add(-1)
	}
}

// look adds one entry of the directory that is being read.
func (w *walk) look(l listing, name []byte, kind byte, f *found) {
	f.entries++
	if kind == unix.DT_DIR {
		f.directories = append(f.directories, w.find(l, name))
		return
	}
	if l.points[string(name)] {
		return
	}
	e, err := l.stat(name)
	switch {
	case err != nil && gone(err):
		f.entries--
	case err != nil:
		f.failed++
	case e.directory: // the file system does not tell kinds
		f.directories = append(f.directories, w.find(l, name))
	case e.mount != w.mount: // the device is no help: files of an overlay have those of its layers
		f.elsewhere = append(f.elsewhere, place{l.of, string(name)})
	case e.links > 1:
		f.linked = append(f.linked, linked{e.identity, e.links, e.bytes, w.large(l, e, name)})
	default:
		f.bytes += e.bytes
		f.files = append(f.files, w.large(l, e, name)...)
	}
}

// large returns a file that is to be kept, as a list of none or one.
func (w *walk) large(l listing, e entry, name []byte) []bigFile {
	if e.bytes <= w.leastFile.Load() {
		return nil
	}
	return []bigFile{{place{l.of, string(name)}, e.bytes, e.size, e.modified}}
}

// gone reports that something was removed or moved since it was seen, or that something else is in its place.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
