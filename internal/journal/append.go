// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// outcomeRoom is what an intent sets aside on disk for the outcomes of this and
// of other open intents, in bytes.
const outcomeRoom = 64 << 10

// append writes one record and returns its number.
func (j *Journal) append(ctx context.Context, r Record, limit *Limit) (uint64, error) {
	head, err := j.appendAlone(ctx, r, limit)
	if err != nil {
		return 0, j.failed(err)
	}
	if j.Announce != nil {
		j.Announce(ctx, head)
	}
	return head.Seq, nil
}

func (j *Journal) appendAlone(ctx context.Context, r Record, limit *Limit) (Head, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, err
	}
	if err := directory(j.dir, 0o700); err != nil {
		return Head{}, err
	}
	if err := directory(j.headDir, 0o755); err != nil { // others read what else is there
		return Head{}, err
	}
	release, err := j.lock(ctx)
	if err != nil {
		return Head{}, err
	}
	defer release()
	s, err := j.load()
	if err != nil {
		return Head{}, err
	}
	defer s.close()
	return j.appendTo(ctx, s, r, limit)
}

// appendTo does the steps of an append, each of which may be the last; see the table
// of crashes. The lock is held. What serves an intent must succeed; an outcome is written even
// if the head cannot be, because what it tells has happened.
func (j *Journal) appendTo(ctx context.Context, s *state, r Record, limit *Limit) (Head, error) {
	r.Time = j.now().UTC().Truncate(time.Millisecond)
	if s.behind {
		if err := j.repairHead(s); err != nil && r.Event == EventIntent {
			return Head{}, err
		}
	}
	if r.Event == EventIntent {
		if err := j.admit(s, r.Time, limit); err != nil {
			return Head{}, err
		}
	}
	line, err := s.follow(&r)
	if err != nil {
		return Head{}, err
	}
	if err := ctx.Err(); err != nil {
		return Head{}, err
	}
	if err := j.put(s, line); err != nil {
		return Head{}, err
	}
	return j.moveHead(s, r)
}

// admit judges an intent and finds room for it and for its outcome. Only an
// intent begins a new file: the room that was kept for outcomes is in this one.
func (j *Journal) admit(s *state, now time.Time, limit *Limit) error {
	if err := limit.judge(s, now); err != nil {
		return err
	}
	if s.current.size+maxLine > j.maxFile {
		if err := j.rotate(s); err != nil {
			return err
		}
	}
	if err := reserve(s.current.file, s.current.size, maxLine+outcomeRoom); err != nil {
		return fmt.Errorf("keep room for the outcome: %w", err)
	}
	return nil
}

// moveHead makes r, which was appended, the end of the journal, and removes the
// files that are kept no longer.
func (j *Journal) moveHead(s *state, r Record) (Head, error) {
	head, drop := j.headAfter(s, r)
	if err := j.writeHead(head); err != nil && r.Event == EventIntent {
		return Head{}, fmt.Errorf("write the head: %w", errors.Join(err, s.takeBack()))
	}
	for _, o := range s.old[:drop] {
		_ = os.Remove(o.path) //nolint:errcheck // the next append tries again
	}
	return head, nil
}

// follow gives r its place in the chain and returns its line.
func (s *state) follow(r *Record) ([]byte, error) {
	r.Seq = max(s.last.Seq, s.head.Seq) + 1
	if r.Seq > maxSeq {
		return nil, fmt.Errorf("%s has no number left for a record", s.current.path)
	}
	r.Prev, r.Damage = s.last.Hash, s.damage
	if s.last.Seq == 0 {
		r.Prev = s.head.Hash
	}
	line, hash, err := r.encode()
	if err != nil {
		return nil, err
	}
	if len(line) >= maxLine {
		return nil, errors.New("the record is too long")
	}
	r.Hash = hash
	if s.unended {
		line = append([]byte("\n"), line...)
	}
	return append(line, '\n'), nil
}

// put appends the line in one write. When it fails, the file is as it was.
func (j *Journal) put(s *state, line []byte) error {
	_, err := s.current.file.WriteAt(line, s.current.size)
	if err == nil {
		err = s.current.file.Sync()
	}
	if err == nil && s.current.size == 0 { // its name may be new
		err = syncDir(j.dir)
	}
	if err != nil {
		return errors.Join(err, s.takeBack())
	}
	return nil
}

// takeBack cuts off what was appended.
func (s *state) takeBack() error {
	return errors.Join(s.current.file.Truncate(s.current.size), s.current.file.Sync())
}

// repairHead writes the head that a crash prevented. It comes before the next
// record: a second crash would leave the head two behind, which nobody could tell from
// one that was replaced.
func (j *Journal) repairHead(s *state) error {
	j.removeLeftovers()
	head, _ := j.headAfter(s, s.last)
	if err := j.writeHead(head); err != nil {
		return fmt.Errorf("write the head: %w", err)
	}
	s.head = head
	return nil
}
