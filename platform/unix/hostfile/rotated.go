// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Rotated lists a log and what was rotated from it, NAME.1, NAME.2.gz and NAME-20260304.gz (logrotate(8)),
// the newest first: at most most files, of as many names in their directory as limit.
func Rotated(dir, log string, limit, most int) ([]fs.FileInfo, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read from
	names, err := Names(dir, limit)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	var files []fs.FileInfo
	for _, name := range names {
		if !isOf(log, name) {
			continue
		}
		if info, err := root.Lstat(name); err == nil {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int {
		if a.Name() == log || b.Name() == log {
			return map[bool]int{true: -1, false: 1}[a.Name() == log]
		}
		return b.ModTime().Compare(a.ModTime())
	})
	return files[:min(len(files), most)], nil
}

// isOf reports whether a file is a log, or was rotated from it.
func isOf(log, name string) bool {
	rest, ok := strings.CutPrefix(name, log)
	return ok && (rest == "" || len(rest) > 1 && (rest[0] == '.' || rest[0] == '-') && rest[1] >= '0' && rest[1] <= '9')
}

// ErrPacked reports a log that is compressed with something else than gzip.
var ErrPacked = errors.New("it is compressed in a way that is not read")

// IsPacked reports, by its name, whether a log is compressed with gzip. The error is [ErrPacked].
func IsPacked(name string) (bool, error) {
	switch path.Ext(name) {
	case ".gz":
		return true, nil
	case ".xz", ".bz2", ".zst", ".lz4", ".lzma":
		return false, ErrPacked
	default:
		return false, nil
	}
}
