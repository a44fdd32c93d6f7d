// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadBelow reads a file of a user, of at most limit bytes. It follows no link out of the directory
// home, so that root is not led to a file that the user may not read, and it never waits for a
// pipe. The error is [ErrNotRegular] or [ErrTooLarge] for anything but a short regular file; the
// Meta is that of the file that was opened.
func ReadBelow(home, name string, limit int) ([]byte, Meta, error) {
	file, err := openBelow(home, name, os.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, Meta{}, err
	}
	defer file.Close() //nolint:errcheck // only read from
	f, err := metaOf(file.Stat())
	if err != nil {
		return nil, Meta{}, err
	}
	if !f.Mode.IsRegular() {
		return nil, f, ErrNotRegular
	}
	var raw bytes.Buffer
	raw.Grow(int(min(f.Size, int64(limit))) + bytes.MinRead) // in one piece: it may have MiB
	_, err = raw.ReadFrom(io.LimitReader(file, int64(limit)+1))
	if err == nil && raw.Len() > limit {
		err = ErrTooLarge
	}
	return raw.Bytes(), f, err
}

// OpenBelow opens a regular file, of whatever size, in the directory home or below it. It follows no
// link at its end and none out of the directory, and it never waits for a pipe. The error is
// [ErrNotRegular] for anything else. The caller closes the file.
func OpenBelow(home, name string) (*os.File, error) {
	root, err := openRoot(home)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read from
	seen, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(seen, opened) { // it was replaced in between
		err = ErrNotRegular
	}
	if err != nil {
		file.Close() //nolint:errcheck // only read from
		return nil, err
	}
	return file, nil
}

// NamesBelow returns the sorted names in a directory of a user, at most limit; more
// are [ErrTooLarge]. A link out of the directory home is an error.
func NamesBelow(home, directory string, limit int) ([]string, error) {
	dir, err := openBelow(home, directory, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read from
	return namesIn(dir, limit)
}

func openBelow(home, name string, flags int) (*os.File, error) {
	root, err := openRoot(home)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read from
	return root.OpenFile(filepath.FromSlash(name), flags, 0)
}
