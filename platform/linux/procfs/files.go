// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a walk over the open files of processes. Anyone may open hundreds of thousands and share
// them among hundreds of processes at no cost to himself; each costs the walk a few microseconds.
const (
	walkTime  = 4 * time.Second
	userFiles = 50_000 // of all processes of one ordinary user
)

// Why the open files of a process were not read, or not all of them, besides want of permission
// (fs.ErrPermission).
var (
	ErrManyFiles = errors.New("the processes of its user have too many files open to look at all")
	ErrWalkTime  = errors.New("looking at the open files of the processes took too long")
)

// Skipped is a process whose open files were not all read.
type Skipped struct {
	PID int
	UID int // real user ID
	Err error
}

// An OpenFile is one entry of /proc/PID/fd.
type OpenFile struct {
	PID, FD int
	Link    []byte // what it refers to, proc_pid_fd(5); valid until the visit returns
}

// Socket returns the inode of a socket, which sock_diag and /proc/net name too.
func (f OpenFile) Socket() (inode uint64, ok bool) { return socketInode(f.Link) }

// OpenFiles visits the open files of the processes with the given PIDs, or of all if pids is nil,
// until visit returns false. It reads within a budget and takes nobody's word for who matters: the
// processes of system accounts come first, then user by user, those with the fewest files first; so
// a user can have his own processes skipped, and not those of others. Nothing that it reads waits
// for a process. Processes that ended have no files. The error is that of ctx or of /proc itself;
// what could not be read is in skipped.
//
// Do not call it while holding a lock that others wait for.
func (fs FS) OpenFiles(ctx context.Context, pids []int, visit func(OpenFile) bool) (skipped []Skipped, err error) {
	w, err := fs.walk(pids)
	if err != nil {
		return nil, err
	}
	defer w.dir.close()
	err = w.each(ctx, func(c candidate) (more bool) {
		more = true
		w.open(c, func(fd int) error {
			return w.links(c, fd, func(n int, link []byte) bool {
				more = visit(OpenFile{PID: c.pid, FD: n, Link: link})
				return more
			})
		})
		return more
	})
	return w.skipped, err
}

// A fileWalk looks at the open files of processes within its bounds.
type fileWalk struct {
	dir     dirHandle
	listed  []int
	until   time.Time
	read    map[int]int // files of each ordinary user
	skipped []Skipped
	fds     []int
	entries []byte
	link    [128]byte
}

func (fs FS) walk(pids []int) (*fileWalk, error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return nil, err
	}
	w := &fileWalk{dir: dir, listed: pids, until: time.Now().Add(walkTime), read: map[int]int{}, entries: make([]byte, directoryBuffer)}
	if pids == nil {
		if w.listed, err = dir.numbers(nil); err != nil {
			dir.close()
			return nil, err
		}
	}
	return w, nil
}

// each calls inspect for the processes in the order of [dirHandle.affordable] until it returns false.
func (w *fileWalk) each(ctx context.Context, inspect func(candidate) (more bool)) error {
	list := w.dir.affordable(w.listed)
	for i, c := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(w.until) {
			for _, rest := range list[i:] {
				w.skip(rest, ErrWalkTime)
			}
			return nil
		}
		if !inspect(c) {
			return nil
		}
	}
	return nil
}

func (w *fileWalk) skip(c candidate, err error) {
	w.skipped = append(w.skipped, Skipped{c.pid, c.uid, err})
}

// open calls read with the open directory of a process's files. What cannot be read is skipped.
func (w *fileWalk) open(c candidate, read func(fd int) error) {
	err := ErrManyFiles
	if w.allowance(c) > 0 {
		var fd int
		if fd, err = w.dir.open(c.pid, "/fd", unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
			err = read(fd)
			unix.Close(fd) //nolint:errcheck // only read from
		}
	}
	if err != nil && !gone(err) {
		w.skip(c, err)
	}
}

// links calls visit for each file in the directory fd of a process until it returns false.
func (w *fileWalk) links(c candidate, fd int, visit func(n int, link []byte) (more bool)) (err error) {
	if w.fds, err = dirHandle(fd).numbersWith(w.entries, w.fds[:0]); err != nil {
		return err
	}
	var denied error
	for i, n := range w.fds {
		if err := w.spend(c, i); err != nil {
			return err
		}
		length, err := readlinkat(fd, n, w.link[:])
		switch {
		case err != nil && !gone(err):
			denied = err
		case err == nil && !visit(n, w.link[:length]):
			return denied
		}
	}
	return denied
}

// spend takes one file from the allowance of the user, and looks at the clock at times.
func (w *fileWalk) spend(c candidate, nth int) error {
	if w.allowance(c) <= 0 {
		return ErrManyFiles
	}
	if c.ordinary() {
		w.read[c.uid]++
	}
	if nth%1024 == 1023 && time.Now().After(w.until) {
		return ErrWalkTime
	}
	return nil
}

// allowance returns how many more files of the user's processes may be read.
func (w *fileWalk) allowance(c candidate) int {
	if !c.ordinary() {
		return userFiles
	}
	return userFiles - w.read[c.uid]
}

// gone reports that a process or a file of it has ended.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }
