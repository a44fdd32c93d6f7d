// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// followInterval is how often files are looked at: of each that did not grow, its size alone.
const followInterval = 500 * time.Millisecond

// A Follower reads what comes to the record from the moment on in which it was made: in files that
// are there, and in those that guards begin.
type Follower struct {
	dir string
	at  map[string]int64 // the end of what was read of each file
}

// NewFollower returns a follower of the record below dir.
func NewFollower(dir string) (*Follower, error) {
	f := &Follower{dir: dir, at: map[string]int64{}}
	names, err := files(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			f.at[name] = info.Size()
		}
	}
	return f, nil
}

// Run calls each with each event that comes, in the order of each session, until ctx ends or idle or
// each returns an error. Idle is called after each look at the files.
func (f *Follower) Run(ctx context.Context, each func(Event) error, idle func() error) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		if err := f.look(ctx, each); err != nil {
			return err
		}
		if err := idle(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// look reads what has come. A file that was removed is forgotten.
func (f *Follower) look(ctx context.Context, each func(Event) error) error {
	names, err := files(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := map[string]int64{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		at[name] = f.at[name]
		info, err := os.Lstat(filepath.Join(f.dir, name))
		if err != nil || info.Size() <= at[name] {
			continue
		}
		read, err := readFrom(filepath.Join(f.dir, name), at[name], each)
		at[name] += read
		if err != nil && !passed(err) {
			return err
		}
	}
	f.at = at
	return nil
}
