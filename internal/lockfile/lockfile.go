// SPDX-License-Identifier: Apache-2.0

// Package lockfile lets one run of sentinel at a time hold a lock on a file (flock(2)) while others
// wait.
//
// Nobody but root may open such a file, because anyone who can open a file can lock it forever. The
// file stays when the lock is released: removing it would let two runs hold the lock.
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

// afterEnd is how long to wait again once a holder that did not go on was ended.
const afterEnd = 5 * time.Second

// Exclude takes the lock exclusively, until release is called, and signs the file with the tool of
// [WithTool]. A missing file is created; an existing one may be on a read-only file system. It fails
// with a [BusyError] if the lock is not free within timeout, with the error of ctx, and with
// [trust.ErrNotRegular] if path is not a regular file. A wait that timed out keeps a thread and a
// descriptor until the holder releases the lock, so it is for runs that end soon.
//
// A holder that is still there when the time is over, and was stopped or has had the lock for longer
// than [Lease], is ended (SIGKILL), if it is a run of this program by the same user.
func Exclude(ctx context.Context, path string, timeout time.Duration) (release func(), err error) {
	release, err = hold(ctx, path, os.O_RDONLY|os.O_CREATE, (*flock.Flock).Lock, timeout)
	if err == nil {
		sign(ctx, path)
	}
	return release, err
}

// Share takes the lock together with other sharers. It fails like [Exclude], and with
// [fs.ErrNotExist] if there is no file.
func Share(ctx context.Context, path string, timeout time.Duration) (release func(), err error) {
	return hold(ctx, path, os.O_RDONLY, (*flock.Flock).RLock, timeout)
}

func hold(ctx context.Context, path string, flag int, take func(*flock.Flock) error, timeout time.Duration) (release func(), err error) {
	release, err = wait(ctx, path, flag, take, timeout)
	if errors.As(err, new(BusyError)) && endStuck(path) {
		return wait(ctx, path, flag, take, afterEnd)
	}
	return release, err
}

func wait(ctx context.Context, path string, flag int, take func(*flock.Flock) error, timeout time.Duration) (release func(), err error) {
	began := uptime()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		l, err := open(path, flag)
		if err != nil {
			return nil, err
		}
		release, err := lockWithin(limited, l, take)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return nil, busy(path, began)
		case err != nil:
			return nil, err
		case isAt(path, l):
			return release, nil
		}
		release() // the lock of a file that was removed meanwhile, which excludes nobody
	}
}

// mode keeps everybody else from opening the file.
const mode fs.FileMode = 0o600

func open(path string, flag int) (*flock.Flock, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, trust.ErrNotRegular)
	case info.Mode().Perm() != mode:
		os.Chmod(path, mode) //nolint:errcheck // of a read-only file system, or another user's
	}
	return flock.New(path, flock.SetFlag(flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK), flock.SetPermissions(mode)), nil
}

// isAt reports whether the locked file is the one at path.
func isAt(path string, l *flock.Flock) bool {
	locked, err := l.Stat()
	there, missing := os.Lstat(path)
	return err == nil && missing == nil && os.SameFile(locked, there)
}

// lockWithin lets the kernel queue the waiting processes: if two hundred of them polled, they would
// take the processor from the holder of the lock. If ctx ends, the wait continues in the
// background, and releases the lock as soon as it gets it.
func lockWithin(ctx context.Context, l *flock.Flock, take func(*flock.Flock) error) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	release := func() { _ = l.Close() } //nolint:errcheck // the lock goes with the descriptor
	locked := make(chan error, 1)
	go func() { locked <- retryInterrupted(l, take) }()
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

// retryInterrupted waits again after a signal, which ends a wait on some file
// systems (flock(2), EINTR).
func retryInterrupted(l *flock.Flock, take func(*flock.Flock) error) error {
	for {
		if err := take(l); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
