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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	if err := r.Info(path, info); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(limit)<<10+1))
	if err == nil && len(raw) > limit<<10 {
		return nil, fmt.Errorf("%w %d KiB", ErrTooLarge, limit)
	}
	return raw, err
}
