// SPDX-License-Identifier: Apache-2.0

// Package lockfile keeps runs of sentinel apart: one at a time has the lock on a
// file (flock(2)), and the others wait.
//
// Nobody but root may open such a file, for whoever can open a file can lock it
// for ever. The file stays when it is released: removing it would let two in at once.
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"sentinel/internal/trust"
)

// Exclude keeps every other run away until release is called. A file that is
// missing is made. It fails with a [BusyError] when the lock is not had within patience, with
// the error of ctx, and with [trust.ErrNotRegular] for what is no file.
func Exclude(ctx context.Context, path string, patience time.Duration) (release func(), err error) {
	l, err := open(path, os.O_RDONLY|os.O_CREATE) // a file system may have become read-only
	if err != nil {
		return nil, err
	}
	return await(ctx, l, l.Lock, patience)
}

// Share keeps those away who exclude others. It fails as [Exclude] does, and
// with [fs.ErrNotExist] where there is no file.
func Share(ctx context.Context, path string, patience time.Duration) (release func(), err error) {
	l, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return await(ctx, l, l.RLock, patience)
}

func open(path string, flag int) (*flock.Flock, error) {
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
func await(ctx context.Context, l *flock.Flock, wait func() error, patience time.Duration) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	release := func() { _ = l.Close() } //nolint:errcheck // the lock goes with the descriptor
	locked := make(chan error, 1)
	go func() { locked <- wait() }()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	var err error
	select {
	case err := <-locked:
		return release, err
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = busy(l.Path())
	}
	go func() {
		if <-locked == nil {
			release()
		}
	}()
	return nil, err
}
