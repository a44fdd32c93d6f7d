// SPDX-License-Identifier: Apache-2.0

// Package hostfile reads small files of the host without trusting them.
//
// Where a small file is expected there may be a FIFO that nobody writes to, a device,
// or gigabytes. Reading is bounded in size, never waits for a writer, and refuses everything but
// regular files. Files of /proc and /sys count as regular. On Linux no path leads through the links of
// /proc to what a process holds, such as /proc/PID/root: a user may put a link to one there, and what it
// leads to may be a file system of the user's own whose server never answers. Nothing can end who waits
// for that.
package hostfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxText caps an attribute, in bytes. One file of sysfs holds at most a page.
const maxText = 4096

// Why a file that exists was not read.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("larger than expected")
	ErrEmpty      = errors.New("empty")
	ErrLeadsOut   = errors.New("a link leads out of the folder that is looked in, and is not followed")
)

// errEscapes is what [os.Root] has for such a link, which os does not export.
var errEscapes = sync.OnceValue(func() error {
	_, err := os.OpenInRoot("/", "..")
	in, _ := errors.AsType[*os.PathError](err)
	return in.Err
})

// Read returns the content of a regular file of at most limit bytes, and
// [ErrTooLarge] for a longer one.
func Read(path string, limit int) ([]byte, error) {
	b, err := Head(path, limit+1)
	if err == nil && len(b) > limit {
		return nil, &os.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return b, err
}

// Head returns at most the first limit bytes of a regular file. The kernel makes
// up files like /proc/cpuinfo while they are read: what is not asked for costs nothing.
func Head(path string, limit int) ([]byte, error) {
	fd, err := open(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	b, err := readAll(fd, limit)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return b, nil
}

// Open opens a regular file to read it piece by piece, for who keeps less of it than it has. The caller bounds
// what is read, and closes it.
func Open(path string) (*os.File, error) {
	fd, err := open(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Tail returns the last bytes of a regular file that others may write to meanwhile, at most limit, and
// how many come before them.
func Tail(path string, limit int) (b []byte, before int64, err error) {
	fd, err := open(path)
	if err != nil {
		return nil, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	size, err := unix.Seek(fd, 0, io.SeekEnd)
	if err == nil {
		before = max(0, size-int64(limit))
		_, err = unix.Seek(fd, before, io.SeekStart)
	}
	if err == nil {
		b, err = readAll(fd, limit)
	}
	if err != nil {
		return nil, 0, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return b, before, nil
}

// Text returns a one-line attribute without the white space and the NUL bytes
// around it. An attribute with nothing else in it is [ErrEmpty].
func Text(path string) (string, error) {
	b, err := Read(path, maxText)
	if err != nil {
		return "", err
	}
	s := string(bytes.Trim(b, "\x00 \t\r\n"))
	if s == "" {
		return "", &os.PathError{Op: "read", Path: path, Err: ErrEmpty}
	}
	return s, nil
}

// Names returns the sorted names in a directory, at most limit of them; a
// fuller one gives limit names and [ErrTooLarge].
func Names(dir string, limit int) ([]string, error) {
	fd, err := OpenNamed(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close() //nolint:errcheck // only read from
	return namesIn(f, limit)
}

func namesIn(dir *os.File, limit int) ([]string, error) {
	names, err := dir.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	if len(names) > limit {
		return names[:limit], &os.PathError{Op: "read", Path: dir.Name(), Err: ErrTooLarge}
	}
	return names, nil
}

// Exists reports whether there is something at path, without opening it.
func Exists(path string) bool {
	_, err := Lstat(path)
	return err == nil
}

// Listable reports whether there is something at path in a directory that can be read: to find what one
// knows takes less. A link to what a process holds is not followed: that may be on the file system of
// a user, whose server need not answer.
func Listable(path string) bool {
	if !Exists(path) {
		return false
	}
	fd, err := OpenNamed(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
}

// Missing reports whether err says that a file does not exist, as opposed to one
// that cannot be read. A path through something that is not a directory does not exist either.
func Missing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// Reason returns err without the operation and the path, for answers that name the
// file already.
func Reason(err error) error {
	in, ok := errors.AsType[*os.PathError](err)
	switch {
	case !ok:
		return err
	case errors.Is(in.Err, errEscapes()):
		return ErrLeadsOut
	default:
		return in.Err
	}
}

// open refuses anything that is not a regular file once it is open: a check by
// name first would leave a gap. With O_NONBLOCK the open of a FIFO returns at once.
func open(path string) (int, error) {
	if strings.ContainsRune(path, 0) {
		return -1, unix.EINVAL
	}
	fd, err := OpenNamed(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // only read from
		return -1, err
	}
	return fd, nil
}

func readAll(fd, limit int) ([]byte, error) {
	b := make([]byte, 0, min(limit, maxText+1))
	for len(b) < limit {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := unix.Read(fd, b[len(b):min(cap(b), limit)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return b, err
		}
		b = b[:len(b)+n]
	}
	return b, nil
}
