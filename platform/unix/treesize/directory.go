// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/diskusage"
)

// A directory is known of and not complete: it, or something below it, is still to be read. Who reads
// it writes nothing in it.
type directory struct {
	parent *directory
	child
	open    handle // where reading goes on, for one with many directories in it
	pending int    // itself and the directories in it that are not complete
	watched bool
	sum
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

// path returns the path below the directory that is walked; "" is that one.
func (d *directory) path() string {
	length := -1
	for at := d; at.parent != nil; at = at.parent {
		length += len(at.name) + 1
	}
	if length < 0 {
		return ""
	}
	b := make([]byte, length)
	for at := d; at.parent != nil; at = at.parent {
		length -= len(at.name)
		copy(b[length:], at.name)
		if length--; length >= 0 {
			b[length] = '/'
		}
	}
	return string(b)
}

// found is what one reading of a directory brings.
type found struct {
	began       bool // it is the first of this directory
	watched     bool
	bytes       uint64
	entries     int64
	directories []child
	elsewhere   []string // files on which others are mounted
	linked      []linked
	files       []diskusage.FoundFile
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

// read reads a directory to its end, or until many directories or files were found in it. Then it is
// to be read on after these: of a tree of any shape only few are known of at a time.
func (w *walk) read(r *reader, d *directory) (f found) {
	below, h := d.path(), d.open
	if h == (handle{}) {
		f.began = true
		if h, f.err = w.enter(d, below, &f); f.err != nil {
			return f
		}
	}
	for {
		state, err := h.batch(r, func(name []byte, kind byte) { w.look(h, name, kind, below, &f) })
		switch {
		case err != nil || state == atEnd:
			f.err = err
			h.close()
			return f
		case state == fullBuffer && (len(f.directories) > 0 || len(f.linked)+len(f.files) >= maxFound) || w.over(f.entries):
			f.open = h
			return f
		}
	}
}

// over reports whether a bound is reached.
func (w *walk) over(more int64) bool { return w.stopped.Load() || w.entries.Load()+more > w.Entries }

// enter opens a directory. Mount points are left alone.
func (w *walk) enter(d *directory, below string, f *found) (handle, error) {
	if w.skip[below] {
		return handle{}, errElsewhere
	}
	_, f.watched = w.watch[below]
	h, err := w.open(d, below)
	if err != nil {
		return handle{}, err
	}
	self, err := h.self()
	switch {
	case err != nil:
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
func (w *walk) open(d *directory, below string) (handle, error) {
	if d.held != (handle{}) {
		defer w.release(d.child)
		return d.held.openBelow("")
	}
	h, err := w.root.openBelow(below)
	if gone(err) {
		err = errMoved
	}
	return h, err
}

// maxHeld bounds how many directories are held: a process may have 1024 files open in many places.
const maxHeld = 500

// find holds a directory of the one that is open as h until it is entered: whoever moves it meanwhile hides
// nothing, and what was removed is told from what was moved. Of those that are too many it is kept which they
// are. What cannot be opened is found out by its name.
func (w *walk) find(h handle, name []byte, below string) child {
	c := child{name: string(name)}
	if w.mounted[below] && w.skip[path.Join(below, c.name)] {
		return c
	}
	held, err := h.openThrough(c.name)
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

// look adds one entry of the directory that is open as h.
func (w *walk) look(h handle, name []byte, kind byte, below string, f *found) {
	f.entries++
	if kind == unix.DT_DIR {
		f.directories = append(f.directories, w.find(h, name, below))
		return
	}
	if w.mounted[below] && w.skip[path.Join(below, string(name))] {
		return
	}
	e, err := h.stat(name)
	switch {
	case err != nil && gone(err):
		f.entries--
	case err != nil:
		f.failed++
	case e.directory: // the file system does not tell kinds
		f.directories = append(f.directories, w.find(h, name, below))
	case e.mount != w.mount: // the device is no help: files of an overlay have those of its layers
		f.elsewhere = append(f.elsewhere, w.at(path.Join(below, string(name))))
	case e.links > 1:
		f.linked = append(f.linked, linked{e.identity, e.links, e.bytes, w.large(e, name, below)})
	default:
		f.bytes += e.bytes
		f.files = append(f.files, w.large(e, name, below)...)
	}
}

// large returns a file that is to be kept, as a list of none or one.
func (w *walk) large(e entry, name []byte, below string) []diskusage.FoundFile {
	if e.bytes <= w.leastFile.Load() {
		return nil
	}
	return []diskusage.FoundFile{{Path: w.at(path.Join(below, string(name))), Bytes: e.bytes, Size: e.size, Modified: time.Unix(e.modified, 0)}}
}

// gone reports that something was removed or moved since it was seen, or that something else is in its place.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
