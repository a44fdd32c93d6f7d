//go:build linux

package procfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// SocketOwners finds the processes that hold the sockets with the given inodes,
// by walking /proc/PID/fd, and stops as soon as all are found. A socket that
// several processes share (a server and its forked workers) goes to the one with the lowest
// PID, in general the parent. Processes of other users are
// skipped without root; denied says that some were, or that /proc does not even list
// them: every PID namespace has a process 1, and hidepid (proc(5)) keeps it from view.
func (f FS) SocketOwners(ctx context.Context, inodes map[uint64]bool) (owners map[uint64]int, denied bool, err error) {
	owners = make(map[uint64]int, len(inodes))
	if len(inodes) == 0 {
		return owners, false, nil
	}
	dir, err := openDir(f.dir)
	if err != nil {
		return owners, false, err
	}
	defer dir.close()
	pids, err := dir.numbers(nil)
	if err != nil {
		return owners, false, err
	}
	slices.Sort(pids) // as the kernel lists them; other file systems do not
	w := fdWalk{wanted: inodes, owners: owners, denied: !slices.Contains(pids, 1)}
	for i, pid := range pids {
		if i%64 == 0 && ctx.Err() != nil {
			return owners, w.denied, ctx.Err()
		}
		if w.process(dir, pid); len(owners) == len(inodes) {
			break
		}
	}
	return owners, w.denied, nil
}

type fdWalk struct {
	wanted map[uint64]bool
	owners map[uint64]int
	denied bool
	fds    []int
	name   [64]byte
}

func (w *fdWalk) process(dir dirHandle, pid int) {
	fd, err := dir.open(pid, "/fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		w.denied = w.denied || errors.Is(err, fs.ErrPermission)
		return
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	if w.fds, err = dirHandle(fd).numbers(w.fds[:0]); err != nil {
		return
	}
	for _, n := range w.fds {
		w.descriptor(fd, n, pid)
	}
}

// descriptor looks at one file descriptor. Its link reads "socket:[12345]".
func (w *fdWalk) descriptor(dir, n, pid int) {
	length, err := readlinkat(dir, n, w.name[:])
	if err != nil {
		return
	}
	inode, ok := socketInode(w.name[:length])
	if !ok || !w.wanted[inode] {
		return
	}
	if _, taken := w.owners[inode]; !taken {
		w.owners[inode] = pid
	}
}

func socketInode(link []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(link, []byte("socket:["))
	if !ok || len(digits) < 2 || digits[len(digits)-1] != ']' {
		return 0, false
	}
	return number(digits[:len(digits)-1])
}
