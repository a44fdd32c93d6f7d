// SPDX-License-Identifier: Apache-2.0

// Package filetree visits every file of a file system without touching any of
// them: directories are opened and listed, everything else is only looked at with
// fstatat(2). The walk follows no symbolic link, stays on its file system, and stops at a
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
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sentinel/platform/unix/hostfile"
)

// An Entry is what is known of a regular file or a directory. Other kinds of
// files are not reported.
type Entry struct {
	Mode     uint32 // st_mode of inode(7)
	UID, GID uint32
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
	// Start are directories, "/usr". Each is followed on its own file system alone.
	Start []string
	// Skip says of a directory below a start that it is left out. Such a directory is not
	// even stat'ed: what is mounted there may be a server that never answers. It must name
	// the other mounts of a file system, which have its device number. It is called from
	// several goroutines.
	Skip func(path string) bool
	// Entries bounds how many files and directories are looked at.
	Entries int64
}

// A Sum says how much was seen.
type Sum struct {
	Entries int64
	// Unseen counts the directories and files that could not be read.
	Unseen int64
	// UnseenAt is the first of these directories, or what one of these files is in.
	UnseenAt string
	// Cut says that a bound of time or of entries was reached.
	Cut bool
}

// Whole says whether everything was seen.
func (s Sum) Whole() bool { return s.Unseen == 0 && !s.Cut }

// Walk calls visit for each regular file and directory of t, the starting directories
// included, from several goroutines at once and in no order. dir and name are the path:
// "/usr/bin" and "su"; name is empty for a starting directory. fd is dir, open while visit runs, or -1 for
// a starting directory: by the path a user could lead elsewhere by then. It ends with ctx.
func Walk(ctx context.Context, t Tree, visit func(fd int, dir, name string, e Entry)) Sum {
	// Two goroutines a processor: one waits for the disk while the other works.
	w := &walk{Tree: t, visit: visit, slots: make(chan struct{}, min(2*runtime.GOMAXPROCS(0), 16))}
	for _, start := range t.Start {
		w.start(ctx, start)
	}
	w.running.Wait()
	return Sum{Entries: min(w.entries.Load(), t.Entries), Unseen: w.unseen.Load(), UnseenAt: w.unseenAt, Cut: w.cut.Load()}
}

type walk struct {
	Tree
	visit           func(fd int, dir, name string, e Entry)
	slots           chan struct{} // one is taken by each goroutine
	running         sync.WaitGroup
	entries, unseen atomic.Int64
	cut             atomic.Bool
	first           sync.Once
	unseenAt        string
}

// miss counts what could not be read in a directory.
func (w *walk) miss(directory string) {
	w.unseen.Add(1)
	w.first.Do(func() { w.unseenAt = directory })
}

// A directory is to be read.
type directory struct {
	path string // below the root
	stat unix.Stat_t
}

// start begins at a directory. One that does not exist, or is a symbolic link, is
// passed over: what the link leads to is on some other start's list.
func (w *walk) start(ctx context.Context, path string) {
	d := directory{path: path}
	f, err := openDir(filepath.Join(w.Root, path), &d.stat)
	if err == nil {
		err = f.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR):
	case err != nil:
		w.miss(path)
	case w.count(ctx):
		w.visit(-1, path, "", entryOf(&d.stat))
		w.descend(ctx, d)
	}
}

// descend reads d and everything below it, in a goroutine of its own while there is
// a free slot.
func (w *walk) descend(ctx context.Context, d directory) {
	select {
	case w.slots <- struct{}{}:
		w.running.Go(func() {
			defer func() { <-w.slots }()
			w.below(ctx, d)
		})
	default:
		w.below(ctx, d)
	}
}

func (w *walk) below(ctx context.Context, d directory) {
	for _, sub := range w.read(ctx, d) {
		w.descend(ctx, sub)
	}
}

// count says whether one more entry may be looked at.
func (w *walk) count(ctx context.Context) bool {
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

// read looks at everything in d and returns the directories in it.
func (w *walk) read(ctx context.Context, d directory) (found []directory) {
	f, err := w.open(d)
	if err != nil {
		w.miss(d.path)
	}
	if f == nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	fd := int(f.Fd())
	for {
		list, err := f.ReadDir(batch) // an error, or the end, comes with an empty list
		for _, one := range list {
			if !w.count(ctx) {
				return nil
			}
			if one.IsDir() || one.Type().IsRegular() {
				found = w.look(d, fd, one, found)
			}
		}
		if len(list) == 0 {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) {
				w.miss(d.path)
			}
			return found
		}
	}
}

// open opens a directory. It returns nil for one that is gone by now, or that
// somebody replaced on the way to it since it was seen: root must not be led elsewhere.
func (w *walk) open(d directory) (*os.File, error) {
	var st unix.Stat_t
	f, err := openDir(filepath.Join(w.Root, d.path), &st)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return nil, nil
	case err != nil:
		return nil, err
	case st.Dev != d.stat.Dev || st.Ino != d.stat.Ino:
		return nil, f.Close()
	}
	return f, nil
}

// openDir opens a directory, and no link to one. A link of /proc on the way to it is ELOOP: what that leads to
// would be asked before it is known.
func openDir(path string, st *unix.Stat_t) (*os.File, error) {
	fd, err := hostfile.OpenNamed(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err == nil {
		err = ignoringEINTR(func() error { return unix.Fstat(fd, st) })
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // only read from, or not open
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// look judges one name in the directory that is open as fd, and adds it to found when it is a
// directory to enter.
func (w *walk) look(d directory, fd int, one fs.DirEntry, found []directory) []directory {
	path := ""
	if one.IsDir() {
		if path = filepath.Join(d.path, one.Name()); w.Skip != nil && w.Skip(path) {
			return found
		}
	}
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(fd, one.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch e := entryOf(&st); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.miss(d.path)
	case e.Is(Regular):
		w.visit(fd, d.path, one.Name(), e)
	case e.Is(Directory) && path != "" && st.Dev == d.stat.Dev:
		w.visit(fd, d.path, one.Name(), e)
		return append(found, directory{path, st})
	}
	return found
}

func entryOf(st *unix.Stat_t) Entry {
	return Entry{Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid} //nolint:unconvert // 16 bits on macOS
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
