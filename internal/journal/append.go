// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sentinel/internal/atomicfile"
)

// outcomeReserve is how much disk space an intent reserves for its own outcome and
// for those of other open intents, in bytes.
const outcomeReserve = 64 << 10

// appendRecord writes one record and returns the new head.
func (j *Journal) appendRecord(ctx context.Context, r Record, limits []*Limit, announced bool) (Head, error) {
	head, signed, err := j.appendLocked(ctx, r, limits, announced)
	if err != nil {
		return Head{}, j.failed(err)
	}
	if signed != nil {
		j.Announce(ctx, *signed)
	}
	return head, nil
}

// appendLocked returns the new head, and the same signed if it is to be announced. One that tells that
// old records were removed is always, so that heads of these do not look like those of lost ones.
func (j *Journal) appendLocked(ctx context.Context, r Record, limits []*Limit, announced bool) (Head, *Announcement, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, nil, err
	}
	if err := directory(j.dir, 0o700); err != nil {
		return Head{}, nil, err
	}
	if err := directory(j.headDir, 0o755); err != nil { // other users read other files in it
		return Head{}, nil, err
	}
	pass, err := j.turn(ctx, r, limits)
	if err != nil {
		return Head{}, nil, err
	}
	defer pass()
	release, err := j.lock(ctx)
	if err != nil {
		return Head{}, nil, err
	}
	defer release()
	s, err := j.load()
	if err != nil {
		return Head{}, nil, err
	}
	defer s.close()
	first := s.head.First
	head, err := j.appendTo(ctx, s, r, limits)
	if err != nil || j.Announce == nil || !announced && head.First <= max(first, 1) {
		return head, nil, err
	}
	signed := j.announcement(head)
	return head, &signed, nil
}

// appendTo performs the steps of an append, with the lock held. The process may die
// after any of them; recover.go lists what each crash leaves. Every step must succeed for an
// intent. An outcome is written even if the head cannot be, because the action has happened.
func (j *Journal) appendTo(ctx context.Context, s *state, r Record, limits []*Limit) (Head, error) {
	r.Time = j.now().UTC().Truncate(time.Millisecond)
	if s.behind {
		if err := j.repairHead(s); err != nil && r.Event == EventIntent {
			return Head{}, err
		}
	}
	if r.Event == EventIntent {
		if err := j.admit(s, r.Time, limits); err != nil {
			return Head{}, err
		}
	}
	line, err := s.nextLine(&r)
	if err != nil {
		return Head{}, err
	}
	if err := ctx.Err(); err != nil {
		return Head{}, err
	}
	if err := j.writeLine(s, line); err != nil {
		return Head{}, err
	}
	return j.advanceHead(s, r)
}

// admit checks the limits and reserves space for an intent and its outcome. Only an
// intent starts a new file: the space reserved for outcomes is in the current one.
func (j *Journal) admit(s *state, now time.Time, limits []*Limit) error {
	for _, limit := range limits {
		if err := limit.check(s, now); err != nil {
			return err
		}
	}
	if s.current.size+maxLine > j.maxFile {
		if err := j.rotate(s); err != nil {
			return err
		}
	}
	if err := reserve(s.current.file, s.current.size, maxLine+outcomeReserve); err != nil {
		return fmt.Errorf("reserve space for the outcome: %w", err)
	}
	return nil
}

// advanceHead makes r, which was just appended, the end of the journal, and removes
// the files that have expired.
func (j *Journal) advanceHead(s *state, r Record) (Head, error) {
	head, drop := j.headAfter(s, r)
	if err := j.writeHead(head); err != nil && r.Event == EventIntent {
		return Head{}, fmt.Errorf("write the head: %w", errors.Join(err, s.revert()))
	}
	for _, o := range s.rotated[:drop] {
		_ = os.Remove(o.path) //nolint:errcheck // the next append tries again
	}
	return head, nil
}

// writeLine appends the line in one write. If that fails, the file is left as it
// was.
func (j *Journal) writeLine(s *state, line []byte) error {
	_, err := s.current.file.WriteAt(line, s.current.size)
	if err == nil {
		err = s.current.file.Sync()
	}
	if err == nil && s.current.size == 0 { // the file may be new
		err = atomicfile.SyncDir(j.dir)
	}
	if err != nil {
		return errors.Join(err, s.revert())
	}
	return nil
}

// revert truncates the current file to its size before the append.
func (s *state) revert() error {
	return errors.Join(s.current.file.Truncate(s.current.size), s.current.file.Sync())
}

// repairHead writes the head that a crash prevented. This happens before the next
// record: after a second crash the head would be two records behind, which looks like a head
// that somebody replaced.
func (j *Journal) repairHead(s *state) error {
	head, _ := j.headAfter(s, s.last)
	if err := j.writeHead(head); err != nil {
		return fmt.Errorf("write the head: %w", err)
	}
	s.head = head
	return nil
}
