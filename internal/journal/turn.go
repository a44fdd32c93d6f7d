// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
)

// turn is what a record that is limited waits for before it waits for the lock of the journal, until release is
// called. Whoever starts many runs at a time, each of which is refused, would otherwise have that lock nearly always:
// they wait for one another, and are refused without it.
func (j *Journal) turn(ctx context.Context, r Record, limits []*Limit) (release func(), err error) {
	release = func() {}
	if !slices.ContainsFunc(limits, func(l *Limit) bool { return l != nil }) {
		return release, nil
	}
	if r.Who != nil && r.Who.SudoUID != nil {
		if release, err = j.queue(ctx, *r.Who.SudoUID); err != nil {
			return nil, err
		}
	}
	if err := j.reached(limits); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// queue excludes all other processes of the user behind sudo until release is called. Who has waited here has yet to
// wait for the lock of the journal, and to answer in time.
func (j *Journal) queue(ctx context.Context, uid int) (release func(), err error) {
	path := filepath.Join(j.headDir, fmt.Sprintf("%s%d.lock", turnPrefix, uid))
	release, err = lockfile.Exclude(ctx, path, j.lockTimeout/2)
	return release, passedOver(err)
}

// passedOver returns the error of a wait for a turn. Where one run has had it all the time, it is that run which is
// to be told.
func passedOver(err error) error {
	if busy, is := errors.AsType[lockfile.BusyError](err); !is || !busy.Passes {
		return err
	}
	return fault.Wrap(fault.RateLimited, "Others of this user's changes were recorded before this one all the time", err).
		WithFix("Nothing was changed. Try again in a moment, and make fewer calls at a time.")
}

// reached returns the error of a limit that is reached, as far as that shows without the lock: what else there is
// to say, the check under the lock says. The names of files come first, so that one that is renamed meanwhile is
// not read twice.
func (j *Journal) reached(limits []*Limit) error {
	rotated, err := j.rotatedSegments()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	s := &state{current: &segment{path: filepath.Join(j.dir, currentName)}, rotated: rotated}
	defer s.close()
	now := j.now().UTC().Truncate(time.Millisecond)
	for _, limit := range limits {
		if err := limit.check(s, now); err != nil {
			if known, ok := errors.AsType[*fault.Error](err); ok {
				return known
			}
			return nil
		}
	}
	return nil
}
