// SPDX-License-Identifier: Apache-2.0

package blocklist

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

	"sentinel/internal/fault"
	"sentinel/internal/trust"
)

// between is how long to wait before asking for the lock again.
const between = 2 * time.Millisecond

var errBusy = errors.New("another run of sentinel has held it for too long")

// lock keeps every other run from changing the list until release is called.
// The lock file stays: removing it would let two in at once. Nobody but root may open it, for
// whoever can open a file can lock it for ever (flock(2)).
func (l *List) lock(ctx context.Context) (release func(), err error) {
	if err := l.folder(); err != nil {
		return nil, unwritable(err)
	}
	if err := trust.RootOrSelf.Folders(l.lockPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, l.unreadable(err)
	}
	held, err := l.await(ctx, os.O_CREATE|os.O_RDONLY, l.patience)
	switch {
	case err == nil:
		return held, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errBusy):
		return nil, fault.Wrap(fault.Unavailable, "The list of blocked addresses cannot be locked", err).
			WithFix("Nothing was changed. Try again in a moment; if it happens again, look for a hung run with: pgrep -a sentinel")
	default:
		return nil, unwritable(err)
	}
}

// peek takes the lock for reading where there is one to take, so that a change
// under way does not show as a difference. Nothing is made for it, and without it the answer
// is still one.
func (l *List) peek(ctx context.Context) (release func()) {
	if held, err := l.await(ctx, os.O_RDONLY, glance); err == nil {
		return held
	}
	return func() {}
}

func (l *List) lockPath() string { return l.path + ".lock" }

func (l *List) await(ctx context.Context, flag int, patience time.Duration) (release func(), err error) {
	path := l.lockPath()
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, trust.ErrNotRegular)
	}
	f := flock.New(path, flock.SetFlag(flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK), flock.SetPermissions(0o600))
	limited, cancel := context.WithTimeoutCause(ctx, patience, errBusy)
	defer cancel()
	if _, err := f.TryLockContext(limited, between); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, context.Cause(limited)
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil //nolint:errcheck // the lock goes with the descriptor
}

// folder makes the folder of the list, readable for everyone whatever the umask
// is, because the list is. One that is there stays as it is.
func (l *List) folder() error {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // see above
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // see above
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return os.Chmod(dir, 0o755) //nolint:gosec // see above
}
