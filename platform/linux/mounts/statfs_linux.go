// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// statfs calls statfs(2). The figures are those of df(1) and lsblk(8): blocks reserved for root are
// neither used nor available.
func statfs(mountpoint string) (Usage, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(mountpoint, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return Usage{}, &os.PathError{Op: "statfs", Path: mountpoint, Err: err}
		}
		return usageOf(&st), nil
	}
}

func usageOf(st *unix.Statfs_t) Usage {
	unit := uint64(max(st.Frsize, 0))
	if unit == 0 {
		unit = uint64(max(st.Bsize, 0))
	}
	return Usage{
		Size:       st.Blocks * unit,
		Used:       (st.Blocks - min(st.Bfree, st.Blocks)) * unit,
		Available:  min(st.Bavail, st.Blocks) * unit,
		Inodes:     st.Files,
		InodesUsed: st.Files - min(st.Ffree, st.Files),
	}
}
