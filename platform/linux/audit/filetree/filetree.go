// SPDX-License-Identifier: Apache-2.0

// Package filetree looks at every file of a file system, fast and without
// touching any of them: names by getdents64(2), the rest by fstatat(2). It follows no
// link, leaves no file system, opens nothing but directories, and stops at a bound of
// time and of entries.
package filetree

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// An Entry is what is known of a file or directory. Symbolic links are not looked
// at: their mode means nothing.
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
	// Skip says of a directory below a start that nothing in it is to be looked at; it is
	// not even opened. It is called from several goroutines.
	Skip func(path string) bool
	// Entries bounds how many files and directories are looked at.
	Entries int64
}

// A Sum says how much was seen.
type Sum struct {
	Entries int64
	// Unseen are the directories and files that could not be read.
	Unseen int64
	// Cut says that a bound of time or of entries was reached.
	Cut bool
}

// Whole says whether everything was seen.
func (s Sum) Whole() bool { return s.Unseen == 0 && !s.Cut }

// Walk calls visit for each file and directory of t, the starting directories
// included, from several goroutines at once and in no order. dir and name are the path:
// "/usr/bin" and "su"; name is empty for a starting directory. It ends with ctx.
func Walk(ctx context.Context, t Tree, visit func(dir, name string, e Entry)) Sum {
	w := &walk{Tree: t, visit: visit}
	w.more = sync.NewCond(&w.lock)
	stop := context.AfterFunc(ctx, w.cut)
	defer stop()
	defer w.closeBases()
	for _, start := range t.Start {
		w.begin(start)
	}
	var all sync.WaitGroup
	for range workers() {
		all.Go(w.work)
	}
	all.Wait()
	return Sum{Entries: min(w.entries.Load(), t.Entries), Unseen: w.unseen.Load(), Cut: w.stopped.Load()}
}

// workers is two a processor: one waits for the disk while the other works.
func workers() int { return min(2*runtime.GOMAXPROCS(0), 16) }

// A directory waits to be read.
type directory struct {
	base *base
	path string // below the root
}

// A base is an open starting directory.
type base struct {
	fd   int
	path string
	dev  uint64
}

// relative is the path from the base: "." for the base itself.
func (f directory) relative() string {
	rest := strings.TrimPrefix(strings.TrimPrefix(f.path, f.base.path), "/")
	if rest == "" {
		return "."
	}
	return rest
}

type walk struct {
	Tree
	visit           func(dir, name string, e Entry)
	bases           []*base
	lock            sync.Mutex
	more            *sync.Cond
	waiting         []directory // under lock, the deepest last: the list stays short
	busy            int         // workers that may add to it
	stopped         atomic.Bool
	entries, unseen atomic.Int64
}

func (w *walk) cut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.stopped.Store(true)
	w.more.Broadcast()
}

func (w *walk) push(found []directory) {
	if len(found) == 0 {
		return
	}
	w.lock.Lock()
	w.waiting = append(w.waiting, found...)
	w.lock.Unlock()
	w.more.Broadcast()
}

// next waits for a directory; it is false when there will be none any more.
func (w *walk) next() (directory, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for len(w.waiting) == 0 && w.busy > 0 && !w.stopped.Load() {
		w.more.Wait()
	}
	if len(w.waiting) == 0 || w.stopped.Load() {
		return directory{}, false
	}
	last := len(w.waiting) - 1
	f := w.waiting[last]
	w.waiting = w.waiting[:last]
	w.busy++
	return f, true
}

func (w *walk) done() {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.busy--; w.busy == 0 && len(w.waiting) == 0 {
		w.more.Broadcast()
	}
}

func (w *walk) work() {
	buf := make([]byte, bufferSize)
	for {
		f, ok := w.next()
		if !ok {
			return
		}
		w.push(w.read(f, buf))
		w.done()
	}
}

// count says whether one more entry may be looked at.
func (w *walk) count() bool {
	if w.stopped.Load() {
		return false
	}
	if w.entries.Add(1) > w.Entries {
		w.cut()
		return false
	}
	return true
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
