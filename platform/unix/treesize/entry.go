// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/diskusage"
)

// An entry is what is known of a file or a directory.
type entry struct {
	identity
	mount     uint64 // that it is in; 0 where the system does not tell
	links     uint64
	bytes     uint64 // allocated
	size      uint64 // apparent
	modified  int64  // seconds since 1970
	directory bool
}

// An identity tells files apart. An overlay has files of several devices, which number theirs each by itself.
type identity struct{ device, inode uint64 }

// blockSize is the unit of allocated blocks whatever the file system has (stat(2)).
const blockSize = 512

// How a read of a directory ended.
type batchState int

const (
	partOfBuffer batchState = iota // there may be more
	fullBuffer                     // there is more, most likely
	atEnd
)

// directoryFlags open a directory and no link to one.
const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

// openParts opens a directory below another, one part of the path after the other, so that no link
// is followed on the way. Those on the way need not be readable.
func openParts(at int, below string) (int, error) {
	if below == "" {
		return openRetry(at, ".", directoryFlags)
	}
	parts, fd := strings.Split(below, "/"), at
	for i, part := range parts {
		flags := throughFlags
		if i == len(parts)-1 {
			flags = directoryFlags
		}
		next, err := openRetry(fd, part, flags)
		if fd != at {
			unix.Close(fd) //nolint:errcheck // only read from
		}
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

func openRetry(at int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// openStart opens the directory below root at which a walk begins.
func openStart(root, below string) (handle, error) {
	top, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return handle{}, err
	}
	defer unix.Close(top) //nolint:errcheck // only read from
	fd, err := openParts(top, below)
	if err != nil {
		return handle{}, explain(top, below, err)
	}
	return newHandle(fd), nil
}

// explain names the link on the way to a directory, and where it leads: with O_DIRECTORY the error of
// a link is that of a file.
func explain(top int, below string, err error) error {
	if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		return err
	}
	at, target := "", make([]byte, unix.PathMax)
	for part := range strings.SplitSeq(below, "/") {
		at += "/" + part
		if n, err := unix.Readlinkat(top, at[1:], target); err == nil {
			return diskusage.ErrLink{Link: at, Target: string(target[:n])}
		}
	}
	return diskusage.ErrNotDirectory
}
