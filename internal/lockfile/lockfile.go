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
// missing is made, also on a file system that can only be read if it is there. It fails with a
// [BusyError] when the lock is not had within patience, with the error of ctx, and with
// [trust.ErrNotRegular] for what is no file. A wait that is given up costs a thread and a file
// until the holder lets go, so it is for runs that end soon.
func Exclude(ctx context.Context, path string, patience time.Duration) (release func(), err error) {
	return hold(ctx, path, os.O_RDONLY|os.O_CREATE, (*flock.Flock).Lock, patience)
}

// Share keeps those away who exclude others. It fails as [Exclude] does, and
// with [fs.ErrNotExist] where there is no file.
func Share(ctx context.Context, path string, patience time.Duration) (release func(), err error) {
	return hold(ctx, path, os.O_RDONLY, (*flock.Flock).RLock, patience)
}

func hold(ctx context.Context, path string, flag int, take func(*flock.Flock) error, patience time.Duration) (release func(), err error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		l, err := open(path, flag)
		if err != nil {
			return nil, err
		}
		release, err := await(limited, l, take)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return nil, busy(path)
		case err != nil:
			return nil, err
		case isAt(path, l):
			return release, nil
		}
		release() // of a file that somebody has removed, which excludes nobody
	}
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

// isAt says whether the file that was locked is the one at path.
func isAt(path string, l *flock.Flock) bool {
	locked, err := l.Stat()
	there, missing := os.Lstat(path)
	return err == nil && missing == nil && os.SameFile(locked, there)
}

// await lets the kernel queue the waiting: asking again and again, two hundred
// processes would take the time from the one that has the lock. A wait that is given up
// goes on aside, and lets go of the lock once it has it.
func await(ctx context.Context, l *flock.Flock, take func(*flock.Flock) error) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	release := func() { _ = l.Close() } //nolint:errcheck // the lock goes with the descriptor
	locked := make(chan error, 1)
	go func() { locked <- uninterrupted(l, take) }()
	select {
	case err := <-locked:
		return release, err
	case <-ctx.Done():
	}
	go func() {
		if <-locked == nil {
			release()
		}
	}()
	return nil, ctx.Err()
}

// uninterrupted goes on after a signal, which ends a wait on some file systems
// (flock(2), EINTR).
func uninterrupted(l *flock.Flock, take func(*flock.Flock) error) error {
	for {
		if err := take(l); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
