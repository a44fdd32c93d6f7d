// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sentinel/internal/posixacl"
)

// OpenNamed opens a file without the links of /proc (openat2(2), Linux 5.6). Kernels and filters of system
// calls that do not know it follow them; no user could mount such a file system before Linux 5.11.
//
// A path of any length is opened, in pieces that the kernel takes (PATH_MAX): users may make directories as deep
// as they like, and what they keep there is not to be unseen.
func OpenNamed(path string, flags int) (fd int, err error) {
	return OpenNamedAt(unix.AT_FDCWD, path, flags)
}

// OpenNamedAt is [OpenNamed] of a path that begins in the directory that is open as dir.
func OpenNamedAt(dir int, path string, flags int) (fd int, err error) {
	at := dir
	for len(path) >= unix.PathMax {
		end := strings.LastIndexByte(path[:unix.PathMax-1], '/')
		if end <= 0 {
			break // a name that none can have
		}
		next, err := openNamedAt(at, path[:end], unix.O_PATH|unix.O_DIRECTORY)
		closeUnless(dir, at)
		if err != nil {
			return -1, err
		}
		at, path = next, strings.TrimLeft(path[end:], "/")
	}
	defer closeUnless(dir, at)
	return openNamedAt(at, path, flags)
}

func closeUnless(dir, at int) {
	if at != dir {
		unix.Close(at) //nolint:errcheck // nothing was written
	}
}

func openNamedAt(at int, path string, flags int) (fd int, err error) {
	flags |= unix.O_CLOEXEC
	if flags&unix.O_PATH == 0 {
		flags |= unix.O_LARGEFILE // openat2 refuses it beside O_PATH
	}
	for {
		if hasOpenat2() {
			fd, err = unix.Openat2(at, path, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_MAGICLINKS})
		} else {
			fd, err = unix.Openat(at, path, flags, 0)
		}
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

var hasOpenat2 = sync.OnceValue(findOpenat2)

// findOpenat2 asks with a path that surely may be opened: EPERM of another one may be its own.
func findOpenat2() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err == nil {
		unix.Close(fd) //nolint:errcheck // nothing was written
	}
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM)
}

// hold opens a file to look at it.
func hold(path string, flags int) (*os.File, error) {
	fd, err := OpenNamed(path, flags|unix.O_PATH)
	if err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// through is a path to what is held, by no name of the file.
func through(held *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(held.Fd())) }

// errNoProc is no file that is missing: the file is held.
var errNoProc = errors.New("/proc does not show the open files of this process")

func throughReason(err error) error {
	if Missing(err) {
		return errNoProc
	}
	return Reason(err)
}

// look is os.Stat, or os.Lstat, of what [OpenNamed] opens.
func look(path string, follow bool) (fs.FileInfo, error) {
	flags := 0
	if !follow {
		flags = unix.O_NOFOLLOW
	}
	f, err := hold(path, flags)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only looked at
	return f.Stat()
}

// StatWithList is [Stat] with whom the access control list of the file grants something. A list grants at
// most its mask, which the mode has in place of the rights of the group: unless the group may do what not
// everyone may, there is nothing to read.
func StatWithList(path string) (Meta, error) {
	held, err := hold(path, 0)
	if err != nil {
		return Meta{}, err
	}
	defer held.Close() //nolint:errcheck // only looked at
	f, err := metaOf(held.Stat())
	if perm := f.Mode.Perm(); err != nil || (perm>>3&7)&^perm == 0 {
		return f, err
	}
	if f.Named, err = posixacl.Of(through(held)); err != nil {
		err = &os.PathError{Op: "getxattr", Path: path, Err: throughReason(err)}
	}
	return f, err
}

// openRoot is os.OpenRoot of a directory that [OpenNamed] opens.
func openRoot(dir string) (*os.Root, error) {
	held, err := hold(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer held.Close() //nolint:errcheck // only looked at
	root, err := os.OpenRoot(through(held))
	if err != nil {
		err = &os.PathError{Op: "open", Path: dir, Err: throughReason(err)}
	}
	return root, err
}
