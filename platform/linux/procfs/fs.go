// SPDX-License-Identifier: Apache-2.0

// Package procfs reads the files under /proc that sentinel needs.
//
// Every file has a parser that takes bytes, independent of the file system, and a method on [FS]
// that reads the file below a root, so that tests can use trees of their own.
package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxFile caps one read, in bytes. /proc/net/tcp of a busy host is the largest
// file read here, and is read line by line instead.
const maxFile = 1 << 20

// ErrFormat reports content that does not have the form proc(5) documents.
var ErrFormat = errors.New("unexpected format")

// FS is a /proc below a root directory.
type FS struct {
	dir    string
	memory *memoryReader
	stats  *memoryReader // of their stat files
	apart  *apart
	// process is the one whose view this is (FS.Of), if any.
	process string
	users   accounts
	// filesTime bounds the reading of open files, of root's processes, of services and of all others.
	filesTime time.Duration
}

// filesTime is that of a live system.
const filesTime = 3 * time.Second

// New returns the /proc below root; root is "/" on a live system.
func New(root string) FS {
	stats := newReader(statPatience, mostStuck)
	fs := FS{dir: filepath.Join(root, "proc"), memory: newMemoryReader(), stats: stats, users: accountsOf(root), filesTime: filesTime}
	stats.root, stats.thing, fs.apart = root, fs.Thing, newApart(fs.dir)
	return fs
}

// path is where a file is read: apart that of a process, where that can be. One that is kept from being read there as
// well is not to be asked: the error is [ErrStuck].
func (fs FS) path(parts ...string) (string, error) {
	dir := fs.dir
	if pid, err := strconv.Atoi(cmp.Or(fs.process, parts[0])); err == nil {
		if fs.stuck(pid) {
			return "", &os.PathError{Op: "open", Path: fs.name(parts...), Err: ErrStuck}
		}
		dir = cmp.Or(fs.apart.path(), dir)
	}
	return filepath.Join(append([]string{dir, fs.process}, parts...)...), nil
}

// name is what a file is called that is read at path.
func (fs FS) name(parts ...string) string {
	return filepath.Join(append([]string{fs.dir, fs.process}, parts...)...)
}

// Path is where a file of a process is to be read, which may not be where it is for everybody. It fails with [ErrStuck].
func (fs FS) Path(pid int, name string) (string, error) { return fs.path(strconv.Itoa(pid), name) }

// Open opens a file of a process for reading.
func (fs FS) Open(pid int, name string) (*os.File, error) {
	of := []string{strconv.Itoa(pid), name}
	path, err := fs.path(of...)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	return f, fs.named(err, of...)
}

// readlink is os.Readlink.
func (fs FS) readlink(parts ...string) (string, error) {
	path, err := fs.path(parts...)
	if err != nil {
		return "", err
	}
	link, err := os.Readlink(path)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		var held Held
		held, err = StatHeld(path)
		link = tooLong(held)
	}
	return link, fs.named(err, parts...)
}

// TooLong stands for a path of more than 4,095 bytes: the kernel names none in the links of a process (do_proc_readlink() in
// its fs/proc/base.c).
const TooLong = "/(a path of more than 4,095 bytes)"

// maxPath is how long a path may be that the kernel names, in bytes.
const maxPath = 4095

// IsTooLong reports whether a link stands for such a path.
func IsTooLong(link string) bool { return strings.TrimSuffix(link, deletedMark) == TooLong }

// deletedMark ends the link of a file that has no name any more (proc_pid_fd(5)).
const deletedMark = " (deleted)"

// tooLong is the link to a file with such a path.
func tooLong(held Held) string {
	if held.Links == 0 {
		return TooLong + deletedMark
	}
	return TooLong
}

// named has an error tell the name of a file in place of where it was read.
func (fs FS) named(err error, parts ...string) error {
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		return &os.PathError{Op: failed.Op, Path: fs.name(parts...), Err: failed.Err}
	}
	return err
}

func (fs FS) read(parts ...string) ([]byte, error) { return fs.readUpTo(maxFile, parts...) }

// Head returns at most the first limit bytes of a file of a process, which can keep others from reading it: that is
// [ErrStuck] after a while. Do not call it while holding a lock that others wait for.
func (fs FS) Head(pid int, name string, limit int64) ([]byte, error) {
	return fs.memory.readOne(pid, fs.userOf, func(pid int) ([]byte, error) { return fs.readUpTo(limit, strconv.Itoa(pid), name) })
}

// readUpTo makes three system calls where os.File makes nine: it would register each file with the poller.
func (fs FS) readUpTo(limit int64, parts ...string) ([]byte, error) {
	path, err := fs.path(parts...)
	if err != nil {
		return nil, err
	}
	name := fs.name(parts...)
	fd, err := retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.Close(fd) //nolint:errcheck // only read from
	var all []byte
	for int64(len(all)) < limit {
		if len(all) == cap(all) {
			all = slices.Grow(all, max(readSize, len(all)))
		}
		room := all[len(all):min(int64(cap(all)), limit)]
		n, err := retry(func() (int, error) { return syscall.Read(fd, room) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		}
		if n == 0 {
			break
		}
		all = all[:len(all)+n]
	}
	return all, nil
}

// readSize is enough for most files of the kernel at once, in bytes.
const readSize = 4096

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// readWith reads a file and passes it to its parser. Most methods of FS do nothing else.
func readWith[T any](fs FS, parse func([]byte) (T, error), parts ...string) (T, error) {
	raw, err := fs.read(parts...)
	if err != nil {
		var zero T
		return zero, err
	}
	value, err := parse(raw)
	if err != nil {
		return value, fmt.Errorf("%s: %w", fs.name(parts...), err)
	}
	return value, nil
}

// number parses an unsigned decimal number. Unlike strconv it takes bytes,
// which keeps the process table free of allocations.
func number(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		digit := uint64(c - '0')
		if digit > 9 || n > (1<<64-1-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, true
}

// maxFloat is above every load average, percentage and uptime (of 300 years).
const maxFloat = 1e10

// float parses a finite decimal number that is not negative.
func float(b []byte) (float64, bool) {
	x, err := strconv.ParseFloat(string(b), 64)
	return x, err == nil && x >= 0 && x <= maxFloat
}

// lines yields the lines of b without their newlines. A last line without a newline is skipped: it
// was cut off, perhaps in the middle of a number.
func lines(b []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(b) {
			line, whole := bytes.CutSuffix(line, []byte("\n"))
			if !whole || !yield(line) {
				return
			}
		}
	}
}
