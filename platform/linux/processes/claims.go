// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/privilege"
	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/procfs"
)

// Bounds of a look at what all processes call themselves, and how many are looked at together.
const (
	claimsTime = 500 * time.Millisecond
	unreadTime = 250 * time.Millisecond // after that, without their memory
	together   = 64
)

// Bounds of waiting for the memory of processes, which comes on top of claimsTime: for one at first, and
// for those that did not answer then once all others were looked at; and how many may be stuck before
// those of people are not asked any more.
const (
	firstPatience = 20 * time.Millisecond
	firstStuck    = 12
	lastPatience  = 100 * time.Millisecond
	lastStuck     = 4
)

// Why not all processes were looked at.
var (
	errHiddenPrograms = errors.New("the programs of other users' processes cannot be seen without root")
	errManyClaims     = errors.New("there are too many processes to look at each in time")
)

// unseen says why the programs of some processes were not seen. In a container, or where a security
// module protects them, that is so for root, too.
func unseen(user int, barred []processes.Claim) error {
	switch {
	case len(barred) == 0:
		return nil
	case user != 0:
		return errHiddenPrograms
	}
	return fmt.Errorf("not even root may see the program of %s here", namesOf(barred))
}

// unknown says whose programs were not seen though they may be.
func unknown(unread []processes.Claim, why error) error {
	if len(unread) == 0 {
		return nil
	}
	return fmt.Errorf("the program of %s: %s", namesOf(unread), answer.Reason(why))
}

// untold says whose first arguments were not read.
func untold(stuck []processes.Claim) error {
	if len(stuck) == 0 {
		return nil
	}
	return fmt.Errorf("the arguments of %s: %w", namesOf(stuck), processes.ErrLocked)
}

// namesOf names the first of processes, and counts the others.
func namesOf(list []processes.Claim) string {
	others := ""
	if n := len(list) - 1; n > 0 {
		others = " and of " + humanize.Count(n, "other process", "other processes")
	}
	return fmt.Sprintf("%s (PID %d)%s", sanitize.Quoted(list[0].Name, 64), list[0].PID, others)
}

// A Disguised process hides what it is.
type Disguised struct {
	PID      int
	Name     string
	Disguise processes.Disguise
	How      string // in words that follow its name
}

// Disguises judges what processes call themselves: first all by their names and the paths of their
// programs, which is cheap and tells of most, then by their first arguments, in each part those that
// began last first. So nobody hides a process behind thousands of others. The error says that not all could be
// looked at; what was found is returned all the same.
func (s *Source) Disguises(ctx context.Context) ([]Disguised, error) {
	return s.disguises(ctx, claimsTime)
}

func (s *Source) disguises(ctx context.Context, most time.Duration) ([]Disguised, error) {
	table, apart, err := s.Recent(ctx)
	if err != nil {
		return nil, err
	}
	l := &look{Source: s.hasty(firstPatience, firstStuck), until: time.Now().Add(most), locked: map[int]bool{}, headless: map[int]bool{}, start: map[int]uint64{}, leader: map[int]int{}}
	for _, p := range table {
		l.headless[p.PID], l.start[p.PID] = p.Headless, p.Start
	}
	l.mounts = s.mountsHere()
	if err = l.judgeAll(ctx, newestFirst(table)); err == nil {
		err = l.askAgain(ctx)
	}
	if err == nil {
		err = l.judgeAgain(ctx)
	}
	return l.found, all(err, unseen(privilege.EffectiveUID(), l.barred), unknown(l.unread, l.why), untold(l.stuck), apart)
}

// all is each of the errors, in one sentence.
func all(errs ...error) (all error) {
	for _, err := range errs {
		if all != nil && err != nil {
			err = fmt.Errorf("%w; %w", all, err)
		}
		all = cmp.Or(err, all)
	}
	return all
}

// hasty is s with another patience for the memory of processes.
func (s *Source) hasty(patience time.Duration, stuck int) *Source {
	return &Source{root: s.root, proc: s.proc.Hasty(patience, stuck), names: s.names, boot: s.boot}
}

// newestFirst lists the processes that run a program.
func newestFirst(table []procfs.Process) []processes.Claim {
	list := make([]processes.Claim, 0, len(table))
	for _, p := range slices.Backward(table) {
		if p.Flags&kernelThread == 0 && !p.Zombie() {
			list = append(list, claimOf(p.PID, p.Name))
		}
	}
	return list
}

func claimOf(pid int, name string) processes.Claim {
	return processes.Claim{PID: pid, Name: name, Owner: -1, Daemons: daemons}
}

// A look is one at all processes.
type look struct {
	*Source
	until  time.Time
	found  []Disguised
	barred []processes.Claim // their programs may not be seen
	unread []processes.Claim // their programs cannot be seen for another reason
	why    error             // that of the first of them
	stuck  []processes.Claim // what they call themselves cannot be read
	locked map[int]bool      // their PIDs
	again  []processes.Claim // the thread has ended that was looked at, and they have not

	mounts   map[uint64]bool // those of the system, by number; nil where they are not known
	headless map[int]bool    // by PID: its first thread has ended
	start    map[int]uint64  // by PID, as in the table
	leader   map[int]int     // PID, by that of the thread that is looked at in its place
}

// threads puts a thread that runs in the place of each process whose first one has ended.
func (l *look) threads(ctx context.Context, some []processes.Claim) ([]processes.Claim, error) {
	list := make([]processes.Claim, 0, len(some))
	for _, c := range some {
		if !l.headless[c.PID] {
			list = append(list, c)
			continue
		}
		if err := l.late(ctx); err != nil {
			return nil, err
		}
		tid, err := l.proc.Thread(c.PID)
		if err != nil {
			l.bar(c, err)
			continue
		}
		l.leader[tid], c.PID = c.PID, tid
		list = append(list, c)
	}
	return list, nil
}

// whole names the process of what was looked at.
func (l *look) whole(c processes.Claim) processes.Claim {
	if pid, ok := l.leader[c.PID]; ok {
		c.PID = pid
	}
	return c
}

func (l *look) judgeAll(ctx context.Context, running []processes.Claim) error {
	var odd, apart, plain []processes.Claim
	for some := range slices.Chunk(running, together) {
		if err := l.late(ctx); err != nil {
			return err
		}
		some, err := l.threads(ctx, some)
		if err != nil {
			return err
		}
		faces, err := l.proc.Faces(pidsOf(some))
		if err != nil {
			return err
		}
		for i, c := range some {
			c.Program = faces[i].Program
			c.Apart = l.mounts != nil && faces[i].Mount != 0 && !l.mounts[faces[i].Mount]
			switch {
			case faces[i].Err != nil:
				l.bar(c, faces[i].Err)
			case c.Plain():
				plain = append(plain, c)
			case c.Apart:
				apart = append(apart, c)
			default:
				odd = append(odd, c)
			}
		}
	}
	if rest, err := l.titles(ctx, odd); err != nil {
		l.judgeUnread(rest)
		return err
	}
	_, err := l.titles(ctx, append(apart, plain...))
	return err
}

// titles judges processes by their first arguments, too, and returns those that there was no time for.
func (l *look) titles(ctx context.Context, list []processes.Claim) (rest []processes.Claim, err error) {
	for some := range slices.Chunk(list, together) {
		if err := l.late(ctx); err != nil {
			return list, err
		}
		list = list[len(some):]
		for _, c := range l.titled(some) {
			if err := l.late(ctx); err != nil && c.Apart { // a table of mounts takes a user's time
				return list, err
			}
			l.judge(c)
		}
	}
	return nil, nil
}

// judgeUnread judges those that there was no time for by their names and the paths of their programs alone:
// reading the memory of others can be made slow by their users.
func (l *look) judgeUnread(list []processes.Claim) {
	until := time.Now().Add(unreadTime)
	l.Source = l.hasty(0, 0)
	for _, c := range list {
		l.tell(c) //nolint:errcheck // that not all are known is said
		if time.Now().After(until) {
			return
		}
	}
}

// titled adds the first arguments of processes, and leaves out those that have ended.
func (l *look) titled(some []processes.Claim) []processes.Claim {
	list := make([]processes.Claim, 0, len(some))
	for i, title := range l.proc.Titles(pidsOf(some)) {
		c := some[i]
		c.Argument = title.Text
		if title.Err != nil {
			l.bar(c, title.Err)
		}
		if !procfs.Ended(title.Err) {
			list = append(list, c)
		}
	}
	return list
}

func pidsOf(some []processes.Claim) []int {
	pids := make([]int, len(some))
	for i, c := range some {
		pids[i] = c.PID
	}
	return pids
}

// late says why a look goes on no longer. What it waited for processes that are stuck is no time of the
// others: anybody could take it from them.
func (l *look) late(ctx context.Context) error {
	if ctx.Err() == nil && time.Now().After(l.until.Add(l.proc.Waited())) {
		return errManyClaims
	}
	return ctx.Err()
}

// bar notes a process whose program was not seen, unless it has ended.
func (l *look) bar(c processes.Claim, err error) {
	c = l.whole(c)
	switch {
	case procfs.Ended(err):
		l.ended(c)
	case errors.Is(err, procfs.ErrStuck):
		l.lock(c)
	case errors.Is(err, fs.ErrPermission):
		l.barred = append(l.barred, c)
	default:
		l.unread, l.why = append(l.unread, c), cmp.Or(l.why, err)
	}
}

// lock notes a process whose memory is kept from being read, once.
func (l *look) lock(c processes.Claim) {
	if !l.locked[c.PID] {
		l.locked[c.PID], l.stuck = true, append(l.stuck, c)
	}
}

// judge judges a process, and notes one that it cannot judge.
func (l *look) judge(c processes.Claim) {
	if err := l.tell(c); err != nil {
		l.bar(c, err)
	}
}

// tell says what a process hides. What was read of a thread that has ended meanwhile does not count.
func (l *look) tell(c processes.Claim) error {
	disguise, how, err := l.verdict(c)
	if err = cmp.Or(err, l.lasted(c)); err == nil && disguise != processes.NoDisguise {
		l.found = append(l.found, Disguised{l.whole(c).PID, c.Name, disguise, how})
	}
	return err
}

// verdict finds out no more about a process than it takes: whose it is is cheaper to ask for than what
// its files are. Where its memory is kept from being read, what is known otherwise is told.
func (l *look) verdict(c processes.Claim) (processes.Disguise, string, error) {
	unmapped, unread := l.proc.Unmapped(c.PID)
	c.Place = placeOf(c.Program)
	if c.Unmapped = unmapped; c.Plain() {
		return processes.NoDisguise, "", unread
	}
	uid, err := l.proc.UID(c.PID)
	if err != nil {
		return processes.NoDisguise, "", err
	}
	c.UserID = uid
	if c.Apart = c.Apart && l.canHaveMounted(c); c.Plain() {
		return processes.NoDisguise, "", unread
	}
	if c, err = l.claim(c, l.owner()); err != nil {
		return processes.NoDisguise, "", err
	}
	c, unknown := l.loaded(c)
	disguise, how := c.Judge()
	if disguise == processes.NoDisguise {
		return disguise, how, cmp.Or(unread, unknown)
	}
	return disguise, how, nil
}
