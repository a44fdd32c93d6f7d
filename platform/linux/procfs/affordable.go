// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A candidate is a process whose files are to be looked at.
type candidate struct {
	pid, uid int // uid is of the user whom the process belongs to, as [accounts] tells
	files    int64
}

func (c candidate) ordinary() bool { return !SystemAccount(c.uid) }

// affordable orders processes for a walk over their open files, and leaves out those that have none,
// such as kernel threads; where the first thread has ended, the others tell. The system's come first, then those of the user who has the fewest files
// open, and so on: what a user does delays only those who have done more. Among the processes of one
// user, those with many files come first, since most sockets belong to them and a search ends
// early; of a user who has more than will be read, those with few, so that more of them are read.
//
// The size of /proc/PID/fd is the number of open files since Linux 6.2, and anyone may ask for it.
// Before that it is 0 for every process, and a user counts for as much as he has processes. The error is that
// of ctx.
func (r *FileReader) affordable(ctx context.Context, pids []int) ([]candidate, error) {
	told := r.dir.size("self/fd") > 0
	byUser := map[int][]candidate{}
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c := r.candidate(pid); c.files != 0 || !told || r.unopened || r.dir.threads(pid) > 1 {
			byUser[c.account()] = append(byUser[c.account()], c)
		}
	}
	groups := make([]group, 0, len(byUser))
	for account, list := range byUser {
		groups = append(groups, newGroup(account, list))
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.account, b.account))
	})
	order := make([]candidate, 0, len(pids))
	for _, g := range groups {
		order = append(order, g.list...)
	}
	return order, nil
}

// system stands for all accounts of the system.
const system = 0

func (c candidate) account() int {
	if c.ordinary() {
		return c.uid
	}
	return system
}

// A group is the processes of one user in the order in which they are read.
type group struct {
	account int
	cost    int64 // -1 for the system
	list    []candidate
}

func newGroup(account int, list []candidate) group {
	g := group{account: account, list: list}
	for _, c := range list {
		g.cost += max(c.files, 1)
	}
	manyFirst := func(a, b candidate) int { return cmp.Compare(b.files, a.files) }
	switch {
	case account == system:
		g.cost = -1
		slices.SortStableFunc(list, manyFirst)
	case g.cost <= userFiles:
		slices.SortStableFunc(list, manyFirst)
	default:
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
	if err := unix.Fstatat(int(r.dir), strconv.Itoa(pid)+"/fd", &stat, 0); err != nil {
		return candidate{pid: pid, files: -1}
	}
	c := candidate{pid: pid, uid: int(stat.Uid), files: stat.Size}
	if c.files != 0 && !c.ordinary() && !r.unaskedOf(c) {
		c.uid = r.userOf(c)
	}
	c.uid = r.fs.users.of(c.uid)
	return c
}

// userOf is [FS.UID] of a process whose files are said to be a system account's: the real user decides, whom
// set-user-ID programs do not change. To ask for that takes of the system's time; once that is spent, it is
// the effective one.
func (r *FileReader) userOf(c candidate) int {
	uid, enough, err := r.fs.effectiveUID(c.pid)
	switch {
	case err != nil:
		return c.uid
	case enough, r.afford(c) != nil:
		return uid
	}
	began := time.Now()
	defer func() { r.spent[c.ordinary()] += time.Since(began) }()
	if known, err := r.fs.realUID(c.pid); err == nil {
		return known
	}
	return uid
}

// fewFiles are read as fast as the kernel tells the real user of a process. Where nothing but links is read,
// which nobody can make slow, that many of so many processes are the system's without asking.
const (
	fewFiles    = 8
	manyUnasked = 4096
)

// unaskedOf says that the real user of a process need not be asked for.
func (r *FileReader) unaskedOf(c candidate) bool {
	if c.files < 0 || c.files > fewFiles || r.unasked == 0 {
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
