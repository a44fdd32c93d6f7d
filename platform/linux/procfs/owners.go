// SPDX-License-Identifier: Apache-2.0

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

// A Holder is a process that holds a socket.
type Holder struct {
	PID  int
	Name string // as in [ProcessStat]
}

// SocketOwners finds the processes that hold the sockets with the given inodes, by walking
// /proc/PID/fd, and stops as soon as all are found. If several processes share a socket (a server
// and its forked workers), its owner is the one with the lowest PID among those inspected; parents
// of owners always are. Without root, processes of other users are skipped; denied reports that
// some were, or that /proc does not even list them: every PID namespace has a process 1, and
// hidepid (proc(5)) hides it.
func (f FS) SocketOwners(ctx context.Context, inodes map[uint64]bool) (owners map[uint64]Holder, denied bool, err error) {
	owners = make(map[uint64]Holder, len(inodes))
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
	slices.Sort(pids) // the kernel lists them in order, other file systems do not
	w := fdWalk{
		wanted: inodes, owners: owners, walked: map[int]bool{}, denied: !slices.Contains(pids, 1),
		entries: make([]byte, directoryBuffer),
	}
	for i, pid := range dir.byOpenFiles(pids) {
		if i%64 == 0 && ctx.Err() != nil {
			return owners, w.denied, ctx.Err()
		}
		if w.inspect(dir, pid); len(owners) == len(inodes) {
			break
		}
	}
	w.inspectParents(dir)
	return owners, w.denied, nil
}

type fdWalk struct {
	wanted  map[uint64]bool
	owners  map[uint64]Holder
	walked  map[int]bool
	denied  bool
	fds     []int
	held    []int // the fds that are wanted sockets
	entries []byte
	name    [64]byte
}

// parents inspects the parents of owners, up to the first that holds no wanted socket. A server's
// workers may have more files open than the server and so be found first.
func (w *fdWalk) inspectParents(dir dirHandle) {
	var pids []int
	for _, owner := range w.owners {
		pids = append(pids, owner.PID)
	}
	slices.Sort(pids)
	for queue := slices.Compact(pids); len(queue) > 0; queue = queue[1:] {
		child, err := dir.process(queue[0], w.entries)
		if parent := child.ParentPID; err == nil && parent > 0 && !w.walked[parent] && w.inspect(dir, parent) {
			queue = append(queue, parent)
		}
	}
}

// process inspects the open files of one process and reports whether a wanted socket is among them.
func (w *fdWalk) inspect(dir dirHandle, pid int) (found bool) {
	w.walked[pid] = true
	fd, err := dir.open(pid, "/fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		w.denied = w.denied || errors.Is(err, fs.ErrPermission)
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	if w.fds, err = dirHandle(fd).numbersWith(w.entries, w.fds[:0]); err != nil {
		return false
	}
	w.held = w.held[:0]
	for _, n := range w.fds {
		if inode, ok := w.socket(fd, n); ok && w.wanted[inode] {
			w.held = append(w.held, n)
		}
	}
	return len(w.held) > 0 && w.recordOwner(dir, pid, fd)
}

// own reads the name of the process and records it as owner of those sockets in held that it still
// holds. fd stays with the inspected process even if another one has its PID by now, and lists
// nothing once that process has ended; so the sockets that are still listed belong to the process
// that was named.
func (w *fdWalk) recordOwner(dir dirHandle, pid, fd int) (found bool) {
	p, err := dir.process(pid, w.entries)
	if err != nil {
		return false
	}
	for _, n := range w.held {
		inode, ok := w.socket(fd, n)
		if !ok || !w.wanted[inode] {
			continue
		}
		found = true
		if owner, taken := w.owners[inode]; !taken || pid < owner.PID {
			w.owners[inode] = Holder{pid, p.Name}
		}
	}
	return found
}

// socket returns the inode of one file descriptor. Its link reads "socket:[12345]". Root without
// CAP_SYS_PTRACE may list the files of other users' processes but not read the links.
func (w *fdWalk) socket(dir, n int) (uint64, bool) {
	length, err := readlinkat(dir, n, w.name[:])
	if err != nil {
		w.denied = w.denied || errors.Is(err, fs.ErrPermission)
		return 0, false
	}
	return socketInode(w.name[:length])
}

func socketInode(link []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(link, []byte("socket:["))
	if !ok || len(digits) < 2 || digits[len(digits)-1] != ']' {
		return 0, false
	}
	return number(digits[:len(digits)-1])
}
