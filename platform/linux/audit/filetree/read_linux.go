// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// bufferSize holds the records of some thousand names, in bytes.
const bufferSize = 64 << 10

// begin opens a starting directory. One that is not there, or is a link, is passed
// over: what the link leads to starts elsewhere.
func (w *walk) begin(start string) {
	fd, err := retry(func() (int, error) {
		return unix.Open(filepath.Join(w.Root, start), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		w.unseen.Add(1)
		return
	}
	b := &base{fd: fd, path: start, dev: st.Dev}
	w.bases = append(w.bases, b)
	if w.count() {
		w.visit(start, "", entryOf(&st))
		w.push([]directory{{b, start}})
	}
}

func (w *walk) closeBases() {
	for _, b := range w.bases {
		unix.Close(b.fd) //nolint:errcheck // only looked through
	}
}

// read looks at everything in f and returns the directories in it. A directory that is
// gone by now was not there to be seen.
func (w *walk) read(f directory, buf []byte) (found []directory) {
	fd, err := openBeneath(f.base.fd, f.relative())
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ELOOP):
		return nil
	case err != nil:
		w.unseen.Add(1)
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil && !errors.Is(err, unix.ENOENT) {
			w.unseen.Add(1)
		}
		if err != nil || n == 0 {
			return found
		}
		found = w.records(f, fd, buf[:n], found)
		if w.stopped.Load() {
			return found
		}
	}
}

// openBeneath opens a directory below base without a link on the way and without
// entering another file system, which also keeps automounts asleep.
func openBeneath(base int, name string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH,
	}
	fd, err := retry(func() (int, error) { return unix.Openat2(base, name, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAGAIN) {
		// Kernels before 5.6, filters of containers, and a rename somewhere at this moment.
		return retry(func() (int, error) { return unix.Openat(base, name, int(how.Flags), 0) })
	}
	return fd, err
}

// records walks the records of getdents64(2): 8 bytes inode, 8 bytes offset, 2
// bytes length, 1 byte type, name with a NUL.
func (w *walk) records(f directory, fd int, b []byte, found []directory) []directory {
	const header = 19
	for len(b) > header {
		length := int(binary.NativeEndian.Uint16(b[16:18]))
		if length <= header || length > len(b) {
			return found
		}
		name, _, _ := bytes.Cut(b[header:length], []byte{0})
		kind := b[18]
		b = b[length:]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		if !w.count() {
			return found
		}
		if kind == unix.DT_REG || kind == unix.DT_DIR || kind == unix.DT_UNKNOWN {
			found = w.look(f, fd, string(name), kind, found)
		}
	}
	return found
}

// look judges one name and adds it to found when it is a directory to enter. What is
// to be skipped is not touched: a dead server below it would never answer.
func (w *walk) look(f directory, fd int, name string, kind uint8, found []directory) []directory {
	path := ""
	if kind != unix.DT_REG {
		if path = join(f.path, name); w.Skip != nil && w.Skip(path) {
			return found
		}
	}
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) {
			w.unseen.Add(1)
		}
		return found
	}
	e := entryOf(&st)
	switch {
	case e.Is(Regular):
		w.visit(f.path, name, e)
	case e.Is(Directory) && st.Dev == f.base.dev:
		w.visit(f.path, name, e)
		return append(found, directory{f.base, path})
	}
	return found
}

func entryOf(st *unix.Stat_t) Entry { return Entry{Mode: st.Mode, UID: st.Uid, GID: st.Gid} }

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
