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

// lock excludes all other processes until release is called.
func (j *Journal) lock(ctx context.Context) (release func(), err error) {
	return lockfile.Exclude(ctx, j.lockPath(), j.lockTimeout)
}

// share excludes writers. A journal without a lock file, which nobody has written
// to, has no writers.
func (j *Journal) share(ctx context.Context) (release func(), err error) {
	release, err = lockfile.Share(ctx, j.lockPath(), j.lockTimeout)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	return release, err
}
