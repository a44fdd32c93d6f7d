// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sentinel/internal/posixacl"
	"sentinel/platform/unix/dirpath"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/stuck"
	"sentinel/platform/unix/workerpool"
)

// A directory is to be read.
type directory struct {
	dirpath.Dir                  // below the start
	prefix      string           // of the paths in it, while it is read
	points      map[string]Mount // what is mounted in it, by name, while it is read
	stat        unix.Stat_t
	owner       int64 // as it was found
	handle      handle
	above       *directory // nil for a start
	begin       *beginning
	pending     atomic.Int32 // itself and the directories in it that are not complete
	closed      bool         // known once it is open
}

// newDirectory returns that of a start.
func newDirectory(b *beginning) *directory {
	d := &directory{begin: b, owner: unknown}
	d.pending.Store(1)
	return d
}

// in returns a directory that was found in d.
func (d *directory) in(name string, st unix.Stat_t) *directory {
	sub := newDirectory(d.begin)
	sub.Dir, sub.stat, sub.owner, sub.above = d.In(name), st, int64(st.Uid), d
	return sub
}

// thing is what runs call d, or the directory that keeps a start from being found.
func (d *directory) thing() stuck.Thing {
	if d.begin.dir == nil {
		return d.begin.way.At()
	}
	return stuck.Directory(uint64(d.stat.Dev), d.stat.Ino) //nolint:unconvert // 32 bits on macOS
}

// pathOf returns the path of a name in d, "" if that is longer than the kernel takes.
func (d *directory) pathOf(name string) string {
	if d.Len() > unix.PathMax {
		return ""
	}
	if d.prefix == "" {
		d.prefix = strings.TrimSuffix(d.begin.path, "/") + d.From(0) + "/"
	}
	return d.prefix + name
}

// A Place is that of a file or a directory. Its path is not made before it is asked for: those of all that a walk
// sees would take as much memory as users nest directories.
type Place struct {
	dir *directory
	// Name is empty for a starting directory.
	Name string
}

// Path returns the path, "/usr/bin/su". One that is far longer than the kernel takes is without its middle.
func (p Place) Path() string {
	path := strings.TrimSuffix(p.dir.begin.path, "/") + p.dir.String()
	if p.Name != "" {
		path += "/" + p.Name
	}
	return cmp.Or(path, "/")
}

// A beginning is a starting directory and how it is seen.
type beginning struct {
	path string
	way  stuck.Way // there
	dir  *os.File  // nil before it is opened
	// bare says that dir is a copy of its mount in which nothing is mounted over anything.
	bare bool
	// mount is the number of the mount, unknown where the kernel does not tell.
	mount int
}

const unknown = -1

func (b *beginning) close() {
	if b.dir != nil {
		b.dir.Close() //nolint:errcheck // only read from
	}
}

// errReplaced says that at the name of a directory is another one, or none.
var errReplaced = errors.New("it is no longer there")

// open opens a directory that was seen, wherever users have moved it since, and nothing that they have put in its
// place. It returns nil for one that is no more.
func (w *walk) open(ctx context.Context, s *workerpool.Steps, d *directory) (*os.File, error) {
	f, err := d.byHandle()
	if err == nil {
		return f, nil
	}
	removed := errors.Is(err, unix.ESTALE) // or it cannot be read, which its name tells
	f, err = d.byName()
	if errors.Is(err, errReplaced) && (removed || w.vanished(ctx, s, d)) {
		return nil, nil
	}
	return f, err
}

// byName opens a directory by its path.
func (d *directory) byName() (*os.File, error) {
	below := cmp.Or(strings.TrimPrefix(d.From(0), "/"), ".")
	var st unix.Stat_t
	f, err := openDir(int(d.begin.dir.Fd()), below, &st)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, errReplaced
	}
	if err == nil && (st.Dev != d.stat.Dev || st.Ino != d.stat.Ino) {
		return nil, errors.Join(errReplaced, f.Close())
	}
	return f, err
}

// vanished says whether a directory that is not at its name any more is not in its parent at all. Where it was
// moved elsewhere is not looked for.
func (w *walk) vanished(ctx context.Context, s *workerpool.Steps, d *directory) bool {
	if d.above == nil || ctx.Err() != nil {
		return false
	}
	f, err := d.above.byName()
	if err != nil {
		return errors.Is(err, errReplaced) && w.vanished(ctx, s, d.above)
	}
	defer f.Close() //nolint:errcheck // only read from
	for {
		list, err := f.ReadDir(batch)
		if len(list) == 0 {
			return err == nil || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist)
		}
		if slices.ContainsFunc(list, func(one fs.DirEntry) bool { return !w.count(ctx, s) || d.isAt(int(f.Fd()), one) }) {
			return false
		}
	}
}

// isAt says whether a name in the directory that is open as fd is that of d, or may be. The number of a file that was
// removed is soon that of another one.
func (d *directory) isAt(fd int, one fs.DirEntry) bool {
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(fd, one.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if st.Dev != d.stat.Dev || st.Ino != d.stat.Ino {
		return false
	}
	h, _, err := handleOf(fd, one.Name())
	return err != nil || d.handle == nil || sameHandle(h, d.handle)
}

// openDir opens a directory, and no link to one. A link of /proc on the way to it is ELOOP: what that leads to
// would be asked before it is known.
func openDir(at int, path string, st *unix.Stat_t) (*os.File, error) {
	return opened(path, st, func() (int, error) {
		return hostfile.OpenNamedAt(at, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	})
}

func opened(path string, st *unix.Stat_t, open func() (int, error)) (*os.File, error) {
	fd, err := open()
	if err == nil {
		err = ignoringEINTR(func() error { return unix.Fstat(fd, st) })
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // only read from, or not open
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OnlyOwner says whether nobody but owner, and root, gets to what is in dir, a path below root without links: it, or
// a directory above it, is the owner's and lets nobody else in. The root itself does not count. A link on the
// way is an error: a user may have put it there to have another place judged.
func OnlyOwner(root, dir string, owner uint32) (bool, error) {
	at, err := hostfile.OpenNamed(root, through|unix.O_DIRECTORY)
	for _, name := range strings.FieldsFunc(dir, func(r rune) bool { return r == '/' }) {
		if err != nil {
			return false, err
		}
		var st unix.Stat_t
		above := at
		at, err = hostfile.OpenNamedAt(above, name, through|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		unix.Close(above) //nolint:errcheck // only looked at
		if err == nil {
			err = ignoringEINTR(func() error { return unix.Fstat(at, &st) })
		}
		if err == nil && letsInOnly(owner, at, &st) {
			return true, unix.Close(at)
		}
	}
	unix.Close(at) //nolint:errcheck // only looked at, or not open
	return false, err
}

// letsInOnly says whether only owner may enter a directory, which is open as fd. The group of the number 0 is
// root's; where it may enter, an access control list may say who else may.
func letsInOnly(owner uint32, fd int, st *unix.Stat_t) bool {
	switch {
	case st.Uid != owner || st.Mode&0o001 != 0:
		return false
	case st.Mode&0o010 == 0:
		return true
	case st.Gid != 0:
		return false
	default:
		list, err := posixacl.Of(filepath.Join("/proc/self/fd", strconv.Itoa(fd)))
		return err == nil && len(list) == 0
	}
}
