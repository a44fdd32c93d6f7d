// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Errors of a file that is not what was expected.
var (
	ErrNotRegular = errors.New("it is not a regular file")
	ErrTooLarge   = errors.New("it is larger than")
)

// Read returns the content of the file at path, at most limit KiB, after
// checking the directories that lead to it and then the file that was opened. It never
// waits: a pipe in place of the file is an error.
func (r Rule) Read(path string, limit int) ([]byte, error) {
	if err := r.Dirs(path); err != nil {
		return nil, err
	}
	f, err := r.open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, int64(limit)<<10+1))
	if err == nil && len(raw) > limit<<10 {
		return nil, fmt.Errorf("%w %d KiB", ErrTooLarge, limit)
	}
	return raw, err
}

// Open opens the file at path to be read and checks it, but not the directories that lead to it. A
// symbolic link is an error, and so is what could block.
func (r Rule) Open(path string) (*os.File, error) { return r.open(path, syscall.O_NOFOLLOW) }

func (r Rule) open(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = r.Info(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
