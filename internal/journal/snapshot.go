// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A snapshot is the journal at one moment: its open files with the sizes they had
// under the lock. They are read after the lock is released, so that a long journal does not hold
// up writers; later appends and rotations do not show.
type snapshot struct {
	segments []*segment // oldest first
	head     Head
	badHead  error // errHead, or nil
}

func (j *Journal) snapshot(ctx context.Context) (*snapshot, error) {
	var s snapshot
	err := checkDir(j.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		release, err := j.share(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		if err := s.open(j); err != nil {
			s.close()
			return nil, err
		}
	}
	if s.head, err = j.checkedHead(); errors.Is(err, errHead) {
		s.badHead, err = err, nil
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return &s, nil
}

// checkedHead reads the head if only root, or the user who runs this, could have
// written it.
func (j *Journal) checkedHead() (Head, error) {
	if err := checkDir(j.headDir); errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	} else if err != nil {
		return Head{}, err
	}
	return j.readHead()
}

func (s *snapshot) open(j *Journal) error {
	old, err := j.rotatedSegments()
	if err != nil {
		return err
	}
	s.segments = append(old, &segment{path: filepath.Join(j.dir, currentName)})
	for i, seg := range s.segments {
		err := seg.open(os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) && i == len(old) { // a crash during a rotation
			s.segments = old
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) close() {
	for _, seg := range s.segments {
		seg.close()
	}
}
