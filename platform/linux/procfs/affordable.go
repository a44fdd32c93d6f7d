// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A candidate is a process whose files are to be looked at.
type candidate struct {
	pid, uid int // uid is of the user whom the process belongs to, as [accounts] tells
	files    int64
	pool     pool
}

// A pool is of processes that have the bounds of one account, whatever user they are shown with.
type pool int

const (
	unpooled pool = iota
	// unclaimed are programs that lend rights and of which nobody tells who started them.
	unclaimed
	// contained are root's in containers, who is not the root of this machine.
	contained
)

// A kind of account has bounds, and a time for all of the kind.
type kind int

const (
	ofRoot kind = iota
	ofService
	ofUser
)

func (c candidate) kind() kind {
	switch {
	case c.pool == unclaimed, !SystemAccount(c.uid):
		return ofUser
	case c.uid == 0 && c.pool == unpooled:
		return ofRoot
	default:
		return ofService
	}
}

// account is whom what is read counts for.
func (c candidate) account() int {
	if c.pool != unpooled {
		return -int(c.pool)
	}
	return c.uid
}

// affordable orders processes for a walk over their open files, and leaves out those that have none,
// such as kernel threads; where the first thread has ended, the others tell. Root's come first, then those of the
// account of the system that has the fewest files open, and so on, and then user by user: what an account does delays
// only those that have done more. Among the processes of one account, those with many files come first, since most
// sockets belong to them and a search ends early; of one that has more than is read of a user, those with few, so that
// more of them are read.
//
// The size of /proc/PID/fd is the number of open files since Linux 6.2, and anyone may ask for it.
// Before that it is 0 for every process, and a user counts for as much as he has processes. The error is that
// of ctx.
func (r *FileReader) affordable(ctx context.Context, pids []int) ([]candidate, error) {
	byUser := map[int][]candidate{}
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c := r.candidate(pid); c.files != 0 || !r.counted || r.unopened || r.from(pid).threads(pid) > 1 {
			byUser[c.account()] = append(byUser[c.account()], c)
		}
	}
	groups := make([]group, 0, len(byUser))
	for _, list := range byUser {
		groups = append(groups, newGroup(list))
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.of.kind(), b.of.kind()), cmp.Compare(a.cost, b.cost), cmp.Compare(a.of.account(), b.of.account()))
	})
	order := make([]candidate, 0, len(pids))
	for _, g := range groups {
		order = append(order, g.list...)
	}
	return order, nil
}

// A group is the processes of one account in the order in which they are read.
type group struct {
	of   candidate // one of them
	cost int64
	list []candidate
}

func newGroup(list []candidate) group {
	g := group{of: list[0], list: list}
	for _, c := range list {
		g.cost += max(c.files, 1)
	}
	manyFirst := func(a, b candidate) int { return cmp.Compare(b.files, a.files) }
	if g.of.kind() == ofRoot || g.cost <= userFiles {
		slices.SortStableFunc(list, manyFirst)
	} else {
		slices.SortStableFunc(list, func(a, b candidate) int { return manyFirst(b, a) })
	}
	return g
}

// candidate asks for the number of files and the user of a process; files is -1 if it cannot be
// known: the process has ended, or hidepid (proc(5)) hides it. The files of a process belong to its
// effective user, or to root if it may not be traced, which anyone can have for his own; so where a
// system account is said, the process itself is asked about.
func (r *FileReader) candidate(pid int) candidate {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(r.from(pid)), strconv.Itoa(pid)+"/fd", &stat, 0); err != nil {
		return candidate{pid: pid, files: -1}
	}
	c := candidate{pid: pid, uid: int(stat.Uid), files: stat.Size}
	if (c.files != 0 || !r.counted) && SystemAccount(c.uid) && !r.unaskedOf(c) {
		c = r.owned(c)
	}
	c.uid = r.fs.users.of(c.uid)
	return c
}

// fewFiles are read as fast as the kernel tells the real user of a process. Where nothing but links is read,
// which nobody can make slow, that many of so many processes are the system's without asking.
const (
	fewFiles    = 8
	manyUnasked = 4096
)

// unaskedOf says that the real user of a process need not be asked for.
func (r *FileReader) unaskedOf(c candidate) bool {
	if !r.counted || c.files < 0 || c.files > fewFiles || r.unasked == 0 || r.from(c.pid).threads(c.pid) > 1 {
		return false
	}
	r.unasked--
	return true
}

// size returns the size of a file below d, or -1 if it cannot be read.
func (d dirHandle) size(path string) int64 {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(d), path, &stat, 0); err != nil {
		return -1
	}
	return stat.Size
}
