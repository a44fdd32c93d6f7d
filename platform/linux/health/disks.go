// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"sync"
	"time"

	"sentinel/internal/health"
	"sentinel/platform/linux/mounts"
)

// atOnce bounds how many file systems are queried at the same time, so that one that hangs does not
// delay the others and a thousand do not take a thousand threads.
const atOnce = 16

// disksLimit is shorter than health's deadline for this fact: however many file systems hang, those
// that answer are reported.
const disksLimit = 2 * time.Second

// disks reads the usage of every local file system, and of those in memory that others need room in.
func (s source) disks(ctx context.Context) ([]health.DiskFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, disksLimit)
	defer cancel()
	list, err := s.mounts.Fillable()
	if err != nil {
		return nil, err
	}
	facts := make([]health.DiskFacts, len(list))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, m := range list {
		free <- struct{}{}
		all.Go(func() {
			facts[i] = disk(ctx, s.mounts, m)
			<-free
		})
	}
	all.Wait()
	return facts, nil
}

func disk(ctx context.Context, fs *mounts.FS, m mounts.Mount) health.DiskFacts {
	u, err := fs.Usage(ctx, m.Mountpoint)
	return health.DiskFacts{
		Mountpoint: m.Mountpoint, Device: m.Source, FileSystem: m.Type, ReadOnly: m.ReadOnly, InMemory: m.InMemory(),
		Size: u.Size, Used: u.Used, Available: u.Available, Inodes: u.Inodes, InodesUsed: u.InodesUsed, Err: err,
	}
}
