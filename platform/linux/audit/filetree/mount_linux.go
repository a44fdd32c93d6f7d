// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// through opens a directory on the way to another.
const through = unix.O_PATH

// A handle leads to a directory wherever it is moved to; nil where the file system has none.
type handle = *unix.FileHandle

// handleOf returns the handle of what is in the directory that is open as fd, itself for "", and the number of the
// mount that it is on.
func handleOf(fd int, name string) (handle, int, error) {
	flags := 0
	if name == "" {
		flags = unix.AT_EMPTY_PATH
	}
	h, mount, err := unix.NameToHandleAt(fd, name, flags)
	if err != nil {
		return nil, unknown, err
	}
	return &h, mount, nil
}

func sameHandle(a, b handle) bool { return a.Type() == b.Type() && bytes.Equal(a.Bytes(), b.Bytes()) }

// byHandle opens a directory as root may, and says what it is. ESTALE says that it was removed, or cannot be read.
func (d *directory) byHandle() (*os.File, error) {
	if d.handle == nil {
		return nil, unix.EOPNOTSUPP
	}
	return opened(d.Name, &d.stat, func() (fd int, err error) {
		err = ignoringEINTR(func() error {
			fd, err = unix.OpenByHandleAt(int(d.begin.dir.Fd()), *d.handle, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
			return err
		})
		return fd, err
	})
}

// bare returns a copy of the mount of dir in which nothing is mounted (open_tree(2), Linux 5.2), as root may have:
// a user can mount over a folder of theirs and still run the programs in it. It is on no path, and gone once it is
// closed. Where there is none, it is dir.
func bare(dir *os.File) (*os.File, bool) {
	copied, err := copyOf(dir)
	if err != nil {
		return dir, false
	}
	defer unix.Close(copied) //nolint:errcheck // what is opened in it keeps it
	var st unix.Stat_t
	f, err := openDir(copied, ".", &st)
	if err != nil {
		return dir, false
	}
	dir.Close() //nolint:errcheck // only read from
	return f, true
}

// copies says whether there is such a copy of the mount of dir.
func copies(dir *os.File) bool {
	copied, err := copyOf(dir)
	if err != nil {
		return false
	}
	return unix.Close(copied) == nil
}

func copyOf(dir *os.File) (int, error) {
	return unix.OpenTree(int(dir.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
}
