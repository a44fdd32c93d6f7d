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
	parent  *directory
	name    string
	open    handle // where reading goes on, for one with many directories in it
	pending int    // itself and the directories in it that are not complete
	watched bool
	sum
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
	directories []string
	linked      []linked
	files       []diskusage.FoundFile
	failed      int64  // files that could not be looked at
	open        handle // the directory, where it is to be read on
	err         error
}

// errElsewhere says that another file system begins at a directory.
var errElsewhere = errors.New("another file system")

// maxFound is about how many files one reading keeps.
const maxFound = 1000

// read reads a directory to its end, or until many directories or files were found in it. Then it is
// to be read on after these: of a tree of any shape only few are known of at a time.
func (w *walk) read(r *reader, d *directory) (f found) {
	below, h := d.path(), d.open
	if h == (handle{}) {
		f.began = true
		if h, f.err = w.enter(below, &f); f.err != nil {
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
func (w *walk) enter(below string, f *found) (handle, error) {
	if w.skip[below] {
		return handle{}, errElsewhere
	}
	_, f.watched = w.watch[below]
	h, err := w.root.openBelow(below)
	if err != nil {
		return handle{}, err
	}
	self, err := h.self()
	if err == nil && self.device != w.device {
		err = errElsewhere
	}
	if err != nil {
		h.close()
		return handle{}, err
	}
	f.bytes += self.bytes
	return h, nil
}

// look adds one entry of the directory that is open as h.
func (w *walk) look(h handle, name []byte, kind byte, below string, f *found) {
	f.entries++
	if kind == unix.DT_DIR {
		f.directories = append(f.directories, string(name))
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
		f.directories = append(f.directories, string(name))
	case e.device != w.device:
	case e.links > 1:
		f.linked = append(f.linked, linked{e.inode, e.links, e.bytes, w.large(e, name, below)})
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

// gone reports that something was removed since it was seen, or that something else is in its place.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
