// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"sentinel/internal/trust"
)

// lock keeps every other process away from the journal until release is called.
// The file stays when it is released: removing it would let two in at once.
func (j *Journal) lock(ctx context.Context) (release func(), err error) {
	l, err := j.lockFile(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return nil, err
	}
	return j.await(ctx, l, l.Lock)
}

// share keeps writers away. A journal that nobody has written to, or that cannot
// be written, has none.
func (j *Journal) share(ctx context.Context) (release func(), err error) {
	if _, err := os.Lstat(filepath.Join(j.dir, lockName)); errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	l, err := j.lockFile(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return j.await(ctx, l, l.RLock)
}

func (j *Journal) lockFile(flag int) (*flock.Flock, error) {
	path := filepath.Join(j.dir, lockName)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, trust.ErrNotRegular)
	}
	return flock.New(path, flock.SetFlag(flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK), flock.SetPermissions(0o600)), nil
}

// await lets the kernel queue the waiting: asking again and again, two hundred
// processes would take the time from the one that has the lock. A wait that is given up
// goes on aside, and lets go of the lock once it has it.
func (j *Journal) await(ctx context.Context, l *flock.Flock, wait func() error) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	release := func() { _ = l.Close() } //nolint:errcheck // the lock goes with the descriptor
	locked := make(chan error, 1)
	go func() { locked <- wait() }()
	limit := time.NewTimer(j.patience)
	defer limit.Stop()
	var err error
	select {
	case err := <-locked:
		return release, err
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = fmt.Errorf("%s: %w for %v", l.Path(), trust.Busy(l.Path()), j.patience)
	}
	go func() {
		if <-locked == nil {
			release()
		}
	}()
	return nil, err
}
