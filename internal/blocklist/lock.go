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

// lock keeps every other run from changing the list until release is called.
// The lock file stays: removing it would let two in at once. Nobody but root may open it, for
// whoever can open a file can lock it for ever (flock(2)).
func (l *List) lock(ctx context.Context) (release func(), err error) {
	// The folder is for everyone to read, because the list is.
	if err := trust.MakeFolder(filepath.Dir(l.path), 0o755); err != nil {
		return nil, unwritable(err)
	}
	if err := trust.RootOrSelf.Folders(l.lockPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, l.unreadable(err)
	}
	held, err := l.await(ctx)
	var busy trust.BusyError
	switch {
	case err == nil:
		return held, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &busy):
		return nil, fault.Wrap(fault.Unavailable, "The list of blocked addresses cannot be locked", err).WithFix(busy.Fix())
	default:
		return nil, unwritable(err)
	}
}

func (l *List) lockPath() string { return l.path + ".lock" }

func (l *List) await(ctx context.Context) (release func(), err error) {
	path := l.lockPath()
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, trust.ErrNotRegular)
	}
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK), flock.SetPermissions(0o600))
	limited, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	if _, err := f.TryLockContext(limited, between); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("%w for too long", trust.Busy(path))
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil //nolint:errcheck // the lock goes with the descriptor
}
