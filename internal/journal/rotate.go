// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"io/fs"
	"os"
)

// rotate sets the current file aside under the number of its first record and
// begins a new one. When that name is taken, which takes somebody's hand, the file grows on.
func (j *Journal) rotate(s *state) error {
	if s.current.size == 0 {
		return nil
	}
	first := s.last.Seq
	if r, err := firstRecord(s.current); err == nil {
		first = r.Seq
	}
	aside := j.oldPath(first)
	if _, err := os.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(s.current.path, aside); err != nil {
		return err
	}
	if err := syncDir(j.dir); err != nil {
		return err
	}
	s.current.close()
	s.old = append(s.old, &segment{path: aside, first: first})
	s.unended = false
	return s.current.open(os.O_RDWR | os.O_CREATE)
}

// headAfter returns the head once r is the newest record, and how many of the
// oldest files are not kept any longer. They are removed after the head is written: a
// crash leaves a file too many, never one too few.
func (j *Journal) headAfter(s *state, r Record) (head Head, drop int) {
	head = Head{Seq: r.Seq, Hash: r.Hash, First: s.head.First, FirstPrev: s.head.FirstPrev}
	drop = j.expendable(s.old)
	if drop == 0 && head.First > 0 {
		return head, 0
	}
	kept := s.current
	if len(s.old) > 0 {
		kept = s.old[drop]
	}
	switch oldest, err := firstRecord(kept); {
	case err == nil && oldest.Seq <= r.Seq:
		head.First, head.FirstPrev = oldest.Seq, oldest.Prev
		return head, drop
	case head.First == 0:
		head.First, head.FirstPrev = r.Seq, r.Prev
	}
	return head, 0 // keep what cannot be read
}

// expendable counts the oldest files that need not be kept any longer; none
// where one of them cannot be looked at.
func (j *Journal) expendable(old []*segment) (drop int) {
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
