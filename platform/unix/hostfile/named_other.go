// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package hostfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OpenNamed opens a file. Only Linux has links to what processes hold.
func OpenNamed(path string, flags int) (fd int, err error) {
	return OpenNamedAt(unix.AT_FDCWD, path, flags)
}

// OpenNamedAt is [OpenNamed] of a path that begins in the directory that is open as dir.
func OpenNamedAt(dir int, path string, flags int) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func look(path string, follow bool) (fs.FileInfo, error) {
	if follow {
		return os.Stat(path)
	}
	return os.Lstat(path)
}

// StatWithList is [Stat]: only Linux has access control lists that are read.
func StatWithList(path string) (Meta, error) { return Stat(path) }

func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(dir) }
