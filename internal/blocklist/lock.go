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

// A busyError says who has held the lock for too long.
type busyError struct{ holder int } // a PID; 0 when that is not known

// Error implements error.
func (e busyError) Error() string {
	if e.holder == 0 {
		return "another run of sentinel has held it for too long"
	}
	return fmt.Sprintf("process %d, another run of sentinel, has held it for too long", e.holder)
}

// fix ends the holder. Whatever it was at, the next run mends it.
func (e busyError) fix() string {
	if e.holder == 0 {
		return "Nothing was changed. Try again in a moment; if it happens again, look for a hung run with: pgrep -a sentinel"
	}
	return fmt.Sprintf("Nothing was changed. Try again in a moment; if it happens again, end the run that holds it, which is safe: sudo kill -9 %d", e.holder)
}

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
	held, err := l.await(ctx)
	var busy busyError
	switch {
	case err == nil:
		return held, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &busy):
		return nil, fault.Wrap(fault.Unavailable, "The list of blocked addresses cannot be locked", err).WithFix(busy.fix())
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
			return nil, busyError{trust.LockHolder(path)}
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
