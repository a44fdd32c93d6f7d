// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"io/fs"
	"os"

	"sentinel/internal/atomicfile"
)

// rotate renames the current file after its first record and starts a new one. If
// that name is taken, which only a person can have done, the current file goes on growing.
func (j *Journal) rotate(s *state) error {
	if s.current.size == 0 {
		return nil
	}
	first := s.last.Seq
	if r, err := firstRecord(s.current); err == nil {
		first = r.Seq
	}
	rotated := j.rotatedPath(first)
	if _, err := os.Lstat(rotated); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(s.current.path, rotated); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(j.dir); err != nil {
		return err
	}
	s.current.close()
	s.rotated = append(s.rotated, &segment{path: rotated, first: first})
	s.unterminated = false
	return s.current.open(os.O_RDWR | os.O_CREATE)
}

// headAfter returns the head with r as the newest record, and how many of the
// oldest files have expired. These are removed after the head is written, so that a crash
// leaves a file too many and never one too few.
func (j *Journal) headAfter(s *state, r Record) (head Head, drop int) {
	head = Head{Seq: r.Seq, Hash: r.Hash, First: s.head.First, FirstPrev: s.head.FirstPrev}
	drop = j.countExpired(s.rotated)
	if drop == 0 && head.First > 0 {
		return head, 0
	}
	kept := s.current
	if len(s.rotated) > 0 {
		kept = s.rotated[drop]
	}
	switch oldest, err := firstRecord(kept); {
	case err == nil && oldest.Seq <= r.Seq:
		head.First, head.FirstPrev = oldest.Seq, oldest.Prev
		return head, drop
	case head.First == 0:
		head.First, head.FirstPrev = r.Seq, r.Prev
	}
	return head, 0 // keep files that cannot be read
}

// keptFiles is how many of old are files that rotation left: it renames none that has room for a record.
func (j *Journal) keptFiles(old []*segment) (n int) {
	for _, s := range old {
		if s.first > 0 && s.size+maxLine > j.maxFile {
			n++
		}
	}
	return n
}

// fewestKept is how many records there are at least after the oldest ones were removed for their age.
func (j *Journal) fewestKept() uint64 {
	return uint64(j.maxKept) * uint64(j.maxFile/maxLine)
}

// countExpired counts the oldest files that may be removed. It counts none if one
// of them cannot be examined.
func (j *Journal) countExpired(old []*segment) (drop int) {
	if len(old) <= j.maxKept {
		return 0
	}
	var total int64
	infos := make([]fs.FileInfo, len(old))
	for i, o := range old {
		info, err := os.Lstat(o.path)
		if err != nil {
			return 0
		}
		infos[i], total = info, total+info.Size()
	}
	for _, info := range infos[:len(old)-j.maxKept] {
		if total <= j.maxTotal && j.now().Sub(info.ModTime()) < j.keepFor {
			break
		}
		total -= info.Size()
		drop++
	}
	return drop
}
