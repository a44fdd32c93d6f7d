// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"context"
	"time"
)

// Usage is the usage of a file system.
type Usage struct {
	Size       uint64 // bytes
	Used       uint64 // bytes
	Available  uint64 // bytes that a user without root may still write
	Inodes     uint64 // 0 where the file system makes them as needed (btrfs, vfat)
	InodesUsed uint64
}

// Usage reads the usage of the file system at mountpoint. A file system whose server or device is
// dead never answers; then Usage fails with [context.DeadlineExceeded] after the limit and leaves
// the call behind, which costs a thread until the kernel gives up. It is safe for concurrent use.
func (fs *FS) Usage(ctx context.Context, mountpoint string) (Usage, error) {
	type reply struct {
		usage Usage
		err   error
	}
	if err := ctx.Err(); err != nil {
		return Usage{}, err
	}
	if mountpoint == "" {
		return Usage{}, ErrFar
	}
	done := make(chan reply, 1)
	go func() {
		usage, err := fs.statfs(mountpoint)
		done <- reply{usage, err}
	}()
	timer := time.NewTimer(fs.limit)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.usage, r.err
	case <-timer.C:
		return Usage{}, context.DeadlineExceeded
	case <-ctx.Done():
		return Usage{}, ctx.Err()
	}
}
