// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A segment is one file of the journal.
type segment struct {
	path  string
	first uint64   // sequence number of its first record, from its name; 0 for the current file
	file  *os.File // nil until it is opened
	size  int64    // in bytes, when it was opened
}

func (s *segment) open(flag int) error {
	if s.file != nil {
		return nil
	}
	f, err := openTrusted(s.path, flag)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.file, s.size = f, info.Size()
	return nil
}

func (s *segment) close() {
	if s.file != nil {
		_ = s.file.Close() //nolint:errcheck // what was written was synced
		s.file = nil
	}
}

func (j *Journal) rotatedPath(first uint64) string {
	return filepath.Join(j.dir, fmt.Sprintf("%s%012d%s", rotatedPrefix, first, rotatedSuffix))
}

// rotatedSegments lists the rotated files, oldest first, without opening them.
func (j *Journal) rotatedSegments() ([]*segment, error) {
	d, err := os.Open(j.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	names, err := d.Readdirnames(maxNames)
	if len(names) == maxNames {
		return nil, fmt.Errorf("%s holds too many files to be the journal's", j.dir)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var old []*segment
	for _, name := range names {
		digits, isOld := strings.CutPrefix(strings.TrimSuffix(name, rotatedSuffix), rotatedPrefix)
		first, err := strconv.ParseUint(digits, 10, 64)
		if isOld && err == nil && filepath.Base(j.rotatedPath(first)) == name {
			old = append(old, &segment{path: filepath.Join(j.dir, name), first: first})
		}
	}
	slices.SortFunc(old, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
	return old, nil
}
