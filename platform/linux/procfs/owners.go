// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
)

// A Holder is a process that holds a socket.
type Holder struct {
	PID  int
	Name string // as in [ProcessStat]
}

// Owners are the processes that hold sockets.
type Owners struct {
	ByInode map[uint64]Holder
	// Denied reports that processes of other users could not be looked at, or are not even listed:
	// every PID namespace has a process 1, and hidepid (proc(5)) hides it.
	Denied bool
	// Skipped are the processes whose files were not all read because there were too many. Each
	// socket that was not found may be theirs.
	Skipped []Skipped
}

// SocketOwners finds the processes that hold the sockets with the given inodes, as
// [FS.OpenFiles] walks, and stops as soon as all are found. If several processes share a socket (a
// server and its forked workers), its owner is the one with the lowest PID among those inspected;
// parents of owners always are.
func (f FS) SocketOwners(ctx context.Context, inodes map[uint64]bool) (Owners, error) {
	s := search{wanted: inodes, owners: make(map[uint64]Holder, len(inodes)), walked: map[int]bool{}}
	s.found = s.keepLowest
	if len(inodes) == 0 {
		return Owners{ByInode: s.owners}, nil
	}
	w, err := f.walk(nil)
	if err != nil {
		return Owners{ByInode: s.owners}, err
	}
	defer w.dir.close()
	err = w.each(ctx, func(c candidate) bool {
		s.inspect(w, c)
		return len(s.owners) < len(inodes)
	})
	if err == nil {
		s.inspectParents(w)
	}
	o := Owners{ByInode: s.owners, Denied: !slices.Contains(w.listed, 1)}
	o.Skipped = slices.DeleteFunc(w.skipped, func(p Skipped) bool {
		denied := errors.Is(p.Err, fs.ErrPermission)
		o.Denied = o.Denied || denied
		return denied
	})
	if len(s.owners) == len(inodes) {
		o.Skipped = nil
	}
	return o, err
}

// SocketHolders finds all processes that hold the sockets with the given inodes, as
// [FS.OpenFiles] walks. Each socket may have further holders among the skipped.
func (f FS) SocketHolders(ctx context.Context, inodes map[uint64]bool) (map[uint64][]Holder, []Skipped, error) {
	holders := make(map[uint64][]Holder, len(inodes))
	s := search{wanted: inodes, walked: map[int]bool{}, found: func(inode uint64, h Holder) {
		if list := holders[inode]; !slices.Contains(list, h) {
			holders[inode] = append(list, h)
		}
	}}
	w, err := f.walk(nil)
	if err != nil {
		return holders, nil, err
	}
	defer w.dir.close()
	err = w.each(ctx, func(c candidate) bool {
		s.inspect(w, c)
		return true
	})
	return holders, w.skipped, err
}

// A search looks for sockets among the files of processes.
type search struct {
	wanted map[uint64]bool
	owners map[uint64]Holder
	walked map[int]bool
	held   []int // the files of one process that are wanted sockets
	found  func(inode uint64, h Holder)
}

func (s *search) keepLowest(inode uint64, h Holder) {
	if owner, taken := s.owners[inode]; !taken || h.PID < owner.PID {
		s.owners[inode] = h
	}
}

// inspectParents inspects the parents of owners, up to the first that holds no wanted socket. A
// server's workers may have more files open than the server and so be found first.
func (s *search) inspectParents(w *fileWalk) {
	var pids []int
	for _, owner := range s.owners {
		pids = append(pids, owner.PID)
	}
	slices.Sort(pids)
	for queue := slices.Compact(pids); len(queue) > 0; queue = queue[1:] {
		child, err := w.dir.process(queue[0], w.entries)
		if parent := child.ParentPID; err == nil && parent > 0 && !s.walked[parent] && s.inspect(w, w.dir.candidate(parent)) {
			queue = append(queue, parent)
		}
	}
}

// inspect inspects the open files of one process and reports whether a wanted socket is among them.
func (s *search) inspect(w *fileWalk, c candidate) (found bool) {
	s.walked[c.pid] = true
	s.held = s.held[:0]
	w.open(c, func(fd int) error {
		err := w.links(c, fd, func(n int, link []byte) bool {
			if inode, ok := socketInode(link); ok && s.wanted[inode] {
				s.held = append(s.held, n)
			}
			return true
		})
		found = len(s.held) > 0 && s.record(w, c.pid, fd)
		return err
	})
	return found
}

// record reads the name of the process and records it as holder of those sockets in held that it
// still holds. fd stays with the inspected process even if another one has its PID by now, and lists
// nothing once that process has ended; so the sockets that are still listed belong to the process
// that was named.
func (s *search) record(w *fileWalk, pid, fd int) (found bool) {
	p, err := w.dir.process(pid, w.entries)
	if err != nil {
		return false
	}
	for _, n := range s.held {
		length, err := readlinkat(fd, n, w.link[:])
		if err != nil {
			continue
		}
		if inode, ok := socketInode(w.link[:length]); ok && s.wanted[inode] {
			found = true
			s.found(inode, Holder{pid, p.Name})
		}
	}
	return found
}

// socketInode returns the inode of a file descriptor whose link reads "socket:[12345]".
func socketInode(link []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(link, []byte("socket:["))
	if !ok || len(digits) < 2 || digits[len(digits)-1] != ']' {
		return 0, false
	}
	return number(digits[:len(digits)-1])
}
