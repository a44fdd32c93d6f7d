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
// [FS.OpenFiles] reads, and stops as soon as all are found. makers are the users who made them, which
// counts for people: anybody leaves descriptors with a message bus, and a socket of theirs belongs to a
// process of theirs that holds it. If several processes share a socket otherwise (a server and its forked
// workers), its owner is the one with the lowest PID among those inspected; parents of owners always are.
func (f FS) SocketOwners(ctx context.Context, makers map[uint64]int) (Owners, error) {
	o := Owners{ByInode: make(map[uint64]Holder, len(makers))}
	if len(makers) == 0 {
		return o, nil
	}
	inodes, settled := make(map[uint64]bool, len(makers)), map[uint64]bool{}
	for inode := range makers {
		inodes[inode] = true
	}
	s, err := f.search(inodes, func(inode uint64, h Holder) {
		owner, taken := o.ByInode[inode]
		theirs := f.belongsTo(h.PID, makers[inode])
		if !taken || theirs && !settled[inode] || theirs == settled[inode] && h.PID < owner.PID {
			o.ByInode[inode] = h
		}
		if theirs {
			settled[inode] = true
		}
	})
	if err != nil {
		return o, err
	}
	defer s.reader.Close()
	s.reader.unasked = manyUnasked
	o.Denied = !slices.Contains(s.pids, 1)
	missing := func() bool { return len(settled) < len(inodes) }
	if o.Skipped, err = s.run(ctx, missing, missing); err != nil {
		return o, err
	}
	s.inspectParents(o.ByInode)
	o.Skipped = slices.DeleteFunc(o.Skipped, func(p Skipped) bool {
		denied := errors.Is(p.Err, fs.ErrPermission)
		o.Denied = o.Denied || denied
		return denied
	})
	if len(o.ByInode) == len(inodes) {
		o.Skipped = nil
	}
	return o, nil
}

// belongsTo reports whether a process is of the user who made a socket; who the system's belong to, no user tells.
func (f FS) belongsTo(pid, maker int) bool {
	return maker == unknownUser || SystemAccount(maker) || f.Owner(pid) == maker
}

// SocketHolders finds all processes that hold the sockets with the given inodes, as
// [FS.OpenFiles] reads. Each socket may have further holders among the skipped.
func (f FS) SocketHolders(ctx context.Context, inodes map[uint64]bool) (map[uint64][]Holder, []Skipped, error) {
	holders := make(map[uint64][]Holder, len(inodes))
	s, err := f.search(inodes, func(inode uint64, h Holder) {
		if list := holders[inode]; !slices.Contains(list, h) {
			holders[inode] = append(list, h)
		}
	})
	if err != nil {
		return holders, nil, err
	}
	defer s.reader.Close()
	skipped, err := s.run(ctx, func() bool { return true }, func() bool { return len(holders) < len(inodes) })
	return holders, skipped, err
}

// A search looks for sockets among the files of processes.
type search struct {
	reader *FileReader
	pids   []int
	wanted map[uint64]bool
	found  func(inode uint64, h Holder)
	walked map[int]bool
	held   []heldSocket
}

// A heldSocket is a wanted socket among the files of one process, or registered with the ring fd of it.
type heldSocket struct {
	fd    int
	inode uint64
}

func (f FS) search(wanted map[uint64]bool, found func(uint64, Holder)) (*search, error) {
	r, err := f.FileReader()
	if err != nil {
		return nil, err
	}
	pids, err := r.dir.numbers(nil)
	if err != nil {
		r.Close()
		return nil, err
	}
	return &search{reader: r, pids: pids, wanted: wanted, found: found, walked: map[int]bool{}}, nil
}

// run looks at the files of all processes for as long as goOn says so, and then, where something is
// missing yet, at those that threads have of their own.
func (s *search) run(ctx context.Context, goOn, missing func() bool) ([]Skipped, error) {
	skipped, err := s.reader.each(ctx, s.pids, func(c candidate) error {
		_, err := s.inspect(c, c.pid)
		return err
	}, goOn)
	if err != nil || !missing() {
		return skipped, err
	}
	left := map[int]bool{}
	for _, p := range skipped {
		left[p.PID] = true
	}
	rest := slices.DeleteFunc(s.pids, func(pid int) bool { return left[pid] })
	late, err := s.reader.each(ctx, rest, s.inspectThreads, missing)
	return append(skipped, late...), err
}

// inspectThreads inspects the files that threads of a process have of their own.
func (s *search) inspectThreads(c candidate) error {
	for _, tid := range s.reader.from(c.pid).ownFiles(c.pid, s.reader.entries) {
		if _, err := s.inspect(c, tid); err != nil {
			return err
		}
	}
	return nil
}

// inspectParents inspects the parents of owners, up to the first that holds no wanted socket. A
// server's workers may have more files open than the server and so be found first.
func (s *search) inspectParents(owners map[uint64]Holder) {
	var pids []int
	for _, owner := range owners {
		pids = append(pids, owner.PID)
	}
	slices.Sort(pids)
	for queue := slices.Compact(pids); len(queue) > 0; queue = queue[1:] {
		child, err := s.reader.from(queue[0]).process(queue[0], s.reader.entries)
		parent := child.ParentPID
		if err != nil || parent == 0 || s.walked[parent] {
			continue
		}
		if found, _ := s.inspect(s.reader.candidate(parent), parent); found { //nolint:errcheck // what is there counts
			queue = append(queue, parent)
		}
	}
}

// inspect inspects the open files of one process, as a thread of it has them, and reports whether a
// wanted socket is among them.
func (s *search) inspect(c candidate, tid int) (found bool, err error) {
	s.walked[c.pid] = true
	s.held = s.held[:0]
	err = s.reader.open(c, tid, func(fd int) error {
		err := s.reader.links(c, tid, fd, func(n int, _ bool, link []byte) bool {
			if inode, ok := socketInode(link); ok && s.wanted[inode] {
				s.held = append(s.held, heldSocket{n, inode})
			}
			return true
		})
		found = len(s.held) > 0 && s.record(c.pid, fd)
		return err
	})
	return found, err
}

// record reads the name of the process and records it as holder of those sockets in held that it
// still holds. fd stays with the inspected process even if another one has its PID by now, and lists
// nothing once that process has ended; so the sockets that are still listed belong to the process
// that was named. Of what was registered with a ring that ring has to be listed.
func (s *search) record(pid, fd int) (found bool) {
	p, err := s.reader.from(pid).process(pid, s.reader.entries)
	if err != nil {
		return false
	}
	for _, h := range s.held {
		length, err := readlinkat(fd, h.fd, "", s.reader.link[:])
		if err != nil {
			continue
		}
		inode, ok := socketInode(s.reader.link[:length])
		if string(s.reader.link[:length]) == ringLink {
			inode, ok = h.inode, true
		}
		if ok && s.wanted[inode] {
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
