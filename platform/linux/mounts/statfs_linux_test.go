// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestUsageCountsLikeDF(t *testing.T) {
	for _, c := range []struct {
		name string
		st   unix.Statfs_t
		want Usage
	}{
		{
			"blocks kept for root are neither used nor available",
			unix.Statfs_t{Bsize: 4096, Frsize: 4096, Blocks: 1000, Bfree: 400, Bavail: 350, Files: 100, Ffree: 90},
			Usage{Size: 4096000, Used: 600 * 4096, Available: 350 * 4096, Inodes: 100, InodesUsed: 10},
		},
		{
			"the fragment is the unit, not the preferred block",
			unix.Statfs_t{Bsize: 1 << 20, Frsize: 512, Blocks: 10, Bfree: 10, Bavail: 10},
			Usage{Size: 5120, Available: 5120},
		},
		{
			"no fragment size",
			unix.Statfs_t{Bsize: 1024, Blocks: 2},
			Usage{Size: 2048, Used: 2048},
		},
		{
			"more free than there is",
			unix.Statfs_t{Bsize: 1, Blocks: 2, Bfree: 5, Bavail: 1 << 63, Files: 1, Ffree: 9},
			Usage{Size: 2, Available: 2, Inodes: 1},
		},
	} {
		if got := usageOf(&c.st); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestStatfsNamesThePathItFailedOn(t *testing.T) {
	if _, err := New("/").Usage(t.Context(), "/nonexistent/place"); err == nil || err.Error() != "statfs /nonexistent/place: no such file or directory" {
		t.Errorf("got %v", err)
	}
}
