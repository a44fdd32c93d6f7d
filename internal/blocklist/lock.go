// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/trust"
)

// lock keeps every other run from changing the list until release is called.
func (l *List) lock(ctx context.Context) (release func(), err error) {
	// The directory is for everyone to read, because the list is.
	if err := trust.MakeDir(filepath.Dir(l.path), 0o755); err != nil {
		return nil, notWritten(err)
	}
	if err := trust.RootOrSelf.Dirs(l.lockPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, l.unreadable(err)
	}
	release, err = lockfile.Exclude(ctx, l.lockPath(), l.lockTimeout)
	var busy lockfile.BusyError
	switch {
	case err == nil:
		return release, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &busy):
		return nil, fault.Wrap(fault.Unavailable, "The list of blocked addresses cannot be locked", err).WithFix(busy.Fix())
	default:
		return nil, notWritten(err)
	}
}

func (l *List) lockPath() string { return l.path + ".lock" }
