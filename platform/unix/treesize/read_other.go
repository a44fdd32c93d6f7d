// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package treesize

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// A handle is an open directory; the zero handle is none.
type handle struct{ file *os.File }

func newHandle(fd int) handle { return handle{os.NewFile(uintptr(fd), "directory")} }

func (h handle) fd() int { return int(h.file.Fd()) }

func (h handle) close() {
	if h.file != nil {
		h.file.Close() //nolint:errcheck // only read from
	}
}

// throughFlags open a directory on the way to another, for which the right to search it is enough.
const throughFlags = unix.O_SEARCH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// maxPiece has each name opened by itself, which follows no link on the way.
const maxPiece = 0

// openBelow opens a directory below h; "" is h itself, once more.
func (h handle) openBelow(below string) (handle, error) {
	fd, err := openParts(h.fd(), below)
	if err != nil {
		return handle{}, err
	}
	return newHandle(fd), nil
}

// openThrough opens a directory in h, for which the right to read it is not needed.
func (h handle) openThrough(name string) (handle, error) {
	fd, err := openRetry(h.fd(), name, throughFlags)
	if err != nil {
		return handle{}, err
	}
	return newHandle(fd), nil
}

// A reader has the memory that reading takes.
type reader struct{}

func newReader() *reader { return &reader{} }

// batchSize is how many names are read at a time.
const batchSize = 1024

// batch calls visit with the next entries of h.
func (h handle) batch(_ *reader, visit func(name []byte, kind byte)) (batchState, error) {
	list, err := h.file.ReadDir(batchSize)
	for _, one := range list {
		visit([]byte(one.Name()), kindOf(one))
	}
	switch {
	case len(list) == 0 && (err == nil || errors.Is(err, io.EOF)):
		return atEnd, nil
	case len(list) == 0:
		return atEnd, err
	case len(list) == batchSize:
		return fullBuffer, nil
	default:
		return partOfBuffer, nil
	}
}

// kindOf is what directories tell of an entry; 0 for all but directories.
func kindOf(one fs.DirEntry) byte {
	if one.IsDir() {
		return unix.DT_DIR
	}
	return 0
}

// stat looks at an entry of h without following a link.
func (h handle) stat(name []byte) (entry, error) {
	var st unix.Stat_t
	err := unix.Fstatat(h.fd(), string(name), &st, unix.AT_SYMLINK_NOFOLLOW)
	return entryOf(&st), err
}

// self looks at the directory itself.
func (h handle) self() (entry, error) {
	var st unix.Stat_t
	err := unix.Fstat(h.fd(), &st)
	return entryOf(&st), err
}

func entryOf(st *unix.Stat_t) entry {
	return entry{
		identity: identity{uint64(st.Dev), st.Ino}, links: uint64(st.Nlink), bytes: uint64(st.Blocks) * blockSize, size: uint64(st.Size),
		modified: st.Mtim.Sec, directory: st.Mode&unix.S_IFMT == unix.S_IFDIR,
	}
}
