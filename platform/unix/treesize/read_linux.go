// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A handle is an open directory; the zero handle is none. It is read with raw system calls: os.File
// costs allocations for each of thousands of directories, and a string for each name.
type handle struct{ number int } // of the file, plus one

func newHandle(fd int) handle { return handle{fd + 1} }

func (h handle) fd() int { return h.number - 1 }

func (h handle) close() {
	if h != (handle{}) {
		unix.Close(h.fd()) //nolint:errcheck // only read from
	}
}

// throughFlags open a directory on the way to another, for which the right to search it is enough.
const throughFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// withinMount keeps look-ups from following links and from leaving a mount, bind mounts of the same
// file system included: the kernel compares mounts, not device numbers (openat2(2), Linux 5.6).
var withinMount = unix.OpenHow{Flags: directoryFlags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}

var throughMount = unix.OpenHow{Flags: throughFlags, Resolve: withinMount.Resolve}

// maxPiece bounds a path for one call: PATH_MAX counts the NUL at its end.
const maxPiece = unix.PathMax - 1

// openBelow opens a directory below h; "" is h itself, once more. Older kernels, and filters of
// system calls that do not know the call, cost a call for each part of the path and tell bind mounts by
// the mount table alone.
func (h handle) openBelow(below string) (handle, error) { return h.openPiece(below, &withinMount) }

// openThrough opens a directory below h, for which the right to read it is not needed.
func (h handle) openThrough(name string) (handle, error) { return h.openPiece(name, &throughMount) }

func (h handle) openPiece(below string, how *unix.OpenHow) (handle, error) {
	name := below
	if name == "" {
		name = "."
	}
	for {
		fd, err := unix.Openat2(h.fd(), name, how)
		switch {
		case err == nil:
			return newHandle(fd), nil
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		case errors.Is(err, unix.EXDEV):
			return handle{}, errElsewhere
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			fd, err := openParts(h.fd(), below)
			if err != nil {
				return handle{}, err
			}
			return newHandle(fd), nil
		default:
			return handle{}, err
		}
	}
}

// A reader has the memory that reading takes.
type reader struct{ buffer []byte }

func newReader() *reader { return &reader{make([]byte, 64<<10)} }

// Records of getdents64(2): 8 bytes inode, 8 bytes offset, 2 bytes length, 1 byte kind, the name with a
// NUL. The longest is that of a name of 255 bytes.
const (
	recordName    = 19
	longestRecord = 280
)

// batch calls visit with the entries that one call of getdents64 returns. Each name ends with a NUL
// behind it in memory.
func (h handle) batch(r *reader, visit func(name []byte, kind byte)) (batchState, error) {
	n, err := unix.Getdents(h.fd(), r.buffer)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Getdents(h.fd(), r.buffer)
	}
	if err != nil || n == 0 {
		return atEnd, err
	}
	visitRecords(r.buffer[:n], visit)
	if n > len(r.buffer)-longestRecord {
		return fullBuffer, nil
	}
	return partOfBuffer, nil
}

func visitRecords(b []byte, visit func(name []byte, kind byte)) {
	for len(b) > recordName {
		length := int(binary.NativeEndian.Uint16(b[16:18]))
		if length <= recordName || length > len(b) {
			return
		}
		name := b[recordName:length]
		end := bytes.IndexByte(name, 0)
		if end > 0 && string(name[:end]) != "." && string(name[:end]) != ".." {
			visit(name[:end], b[18])
		}
		b = b[length:]
	}
}

const wanted = unix.STATX_TYPE | unix.STATX_NLINK | unix.STATX_MTIME | unix.STATX_INO | unix.STATX_SIZE | unix.STATX_BLOCKS | unix.STATX_MNT_ID

// stat looks at an entry of h without following a link or mounting anything. It is unix.Statx without a
// copy of the name: the call is made for every file. name is one that batch visits.
func (h handle) stat(name []byte) (entry, error) {
	return statx(h.fd(), unsafe.Pointer(&name[0]), unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT) //nolint:gosec // the kernel reads it up to its NUL
}

// self looks at the directory itself.
func (h handle) self() (entry, error) {
	var empty byte
	return statx(h.fd(), unsafe.Pointer(&empty), unix.AT_EMPTY_PATH) //nolint:gosec // an empty text
}

func statx(fd int, name unsafe.Pointer, flags int) (entry, error) {
	var st unix.Statx_t
	for {
		_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(name), uintptr(flags), wanted, uintptr(unsafe.Pointer(&st)), 0) //nolint:gosec // arguments of a system call
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return entry{}, errno
		}
		return entryOf(&st), nil
	}
}

// entryOf has no mount before Linux 5.8.
func entryOf(st *unix.Statx_t) entry {
	e := entry{
		identity: identity{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, links: uint64(st.Nlink), bytes: st.Blocks * blockSize, size: st.Size,
		modified: st.Mtime.Sec, directory: st.Mode&unix.S_IFMT == unix.S_IFDIR,
	}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		e.mount = st.Mnt_id
	}
	return e
}
