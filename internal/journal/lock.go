// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"sentinel/internal/lockfile"
)

func (j *Journal) lockPath() string { return filepath.Join(j.dir, lockName) }

// lock keeps every other process away from the journal until release is called.
func (j *Journal) lock(ctx context.Context) (release func(), err error) {
	return lockfile.Exclude(ctx, j.lockPath(), j.patience)
}

// share keeps writers away. A journal that nobody has written to, or that cannot
// be written, has none.
func (j *Journal) share(ctx context.Context) (release func(), err error) {
	release, err = lockfile.Share(ctx, j.lockPath(), j.patience)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	return release, err
}
