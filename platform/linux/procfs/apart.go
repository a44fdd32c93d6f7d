// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strconv"
	"sync"
)

// An apart is a /proc of this run's own, in which files of processes are read where it can be had: whoever lists a
// directory in the one that everybody has into memory that does not come holds its inode, and no inode of this one is
// to be had for anybody else. The table of all processes is read in the other first, whose names the kernel has at hand.
type apart struct {
	fd    func() (int, error) // of the /proc
	stats *memoryReader

	mu   sync.Mutex
	pids map[int]bool // that cannot be read elsewhere
}

// ownProc is made when it is first asked for, and goes with this run.
var ownProc = sync.OnceValues(mountApart)

func newApart(shared string) *apart {
	a := &apart{fd: ownProc, stats: newReader(statPatience, mostStuck), pids: map[int]bool{}}
	if shared != "/proc" {
		a.fd = func() (int, error) { return 0, errSame }
	}
	return a
}

var errSame = errors.New("there is one /proc for all")

// path is that of this /proc, empty where there is none.
func (a *apart) path() string {
	fd, err := a.fd()
	if err != nil {
		return ""
	}
	return apartPath(fd)
}

func apartPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (a *apart) has(pid int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pids[pid]
}

// put notes that a process can only be read there, unless it is stuck there as well.
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
