// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strconv"
	"sync"
)

// An apart is a /proc of this run's own, in which processes are read that are kept from being read in the one that
// everybody has: whoever lists a directory there into memory that does not come holds its inode, and no inode of this
// one is to be had for anybody else.
type apart struct {
	fd    func() (int, error) // of the /proc; made when it is first asked for
	stats *memoryReader

	mu   sync.Mutex
	pids map[int]bool // that are read there
}

func newApart(shared string) *apart {
	return &apart{
		fd:    sync.OnceValues(func() (int, error) { return mountApart(shared) }),
		stats: newReader(statPatience, mostStuck), pids: map[int]bool{},
	}
}

// path is that of the /proc that a process is read in, if it is this one.
func (a *apart) path(pid int) string {
	if !a.has(pid) {
		return ""
	}
	fd, _ := a.fd() //nolint:errcheck // there was one when the process was put there
	return apartPath(fd)
}

func apartPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (a *apart) has(pid int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pids[pid]
}

// put has a process read there, unless it is stuck there as well.
func (a *apart) put(pid int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if delete(a.pids, pid); !errors.Is(err, ErrStuck) {
		a.pids[pid] = true
	}
}

// stuck reports whether a process was found to be kept from being read, wherever.
func (fs FS) stuck(pid int) bool { return fs.stats.knows(pid) && !fs.apart.has(pid) }

// Apart reports whether a process is read where nobody can keep it from that.
func (fs FS) Apart(pid int) bool { return fs.apart.has(pid) }
