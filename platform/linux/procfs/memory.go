// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sentinel/platform/unix/stuck"
)

// ErrStuck reports a process whose memory could not be read in time.
//
// Its arguments and its environment stand in its memory, and the kernel reads them under the lock of
// its address space (proc_pid_cmdline_read in fs/proc/base.c). A thread that waits for a page of a
// network or FUSE file may hold that lock for as long as the file's server likes, so everybody
// may have a process that nobody can read.
// The same goes for its other files: see [FS.Processes].
var ErrStuck = errors.New("it is kept from being read, perhaps by a thread that waits for a dead file system")

// Bounds of waiting for the memory of processes. A read that is stuck keeps a thread of its own until
// this program ends; a signal that ends it ends the read too (mmap_read_lock_killable).
const (
	readPatience  = 500 * time.Millisecond // for one process
	totalPatience = 2 * time.Second        // for all; those that come after get leastPatience
	leastPatience = 20 * time.Millisecond
	maxStuckUser  = 3   // of one user; his other processes are then not asked
	maxStuck      = 100 // of all
)

// firstOrdinary is the first user ID of people and of what they run; those below belong to the
// system (SYS_UID_MAX of login.defs(5) is 999 everywhere).
const firstOrdinary = 1000

// nobody is the account of what needs none (nobody of sysusers.d(5)), as which daemons run and no
// person does.
const nobody = 65534

// SystemAccount reports whether a user ID is root's or an account's of the system.
func SystemAccount(uid int) bool { return uid < firstOrdinary || uid == nobody }

// DynamicUser reports whether systemd reserves an ID for services while they run (DynamicUser= of
// systemd.exec(5); UIDS-GIDS.md of systemd).
func DynamicUser(id int) bool { return id >= 61184 && id <= 65519 }

// unknownUser is of a process whose user cannot be read.
const unknownUser = -1

// A memoryReader reads from the memory of processes and gives up those that are stuck.
type memoryReader struct {
	each time.Duration // patience for one process; without any none is asked
	most int           // that may be stuck before those of people are not asked
	root string        // where runs note what is stuck
	// thing is what they note for a process, false once that has ended; nil for what no run stays for.
	thing func(pid int) (stuck.Thing, bool)

	mu       sync.Mutex
	waited   time.Duration
	pids     map[int]reason // that are stuck
	byUser   map[int]int
	answered int // how many of those were read after all
}

// A reason is why a process is taken for stuck.
type reason struct {
	uid   int  // its user
	noted bool // another run waits for it, and this one does not
}

func newMemoryReader() *memoryReader { return newReader(readPatience, maxStuck) }

func newReader(each time.Duration, most int) *memoryReader {
	return &memoryReader{each: each, most: most, pids: map[int]reason{}, byUser: map[int]int{}}
}

// Bounds of waiting for the stat files of processes, as those for their memory.
const (
	statPatience = 250 * time.Millisecond
	mostStuck    = 20
)

// Hasty returns fs with a patience of its own, and without what is known to be stuck: for who asks all and
// can come back to those that do not answer at once. Without any patience none is asked.
func (fs FS) Hasty(each time.Duration, most int) FS {
	fs.memory = newReader(each, most)
	return fs
}

// Waited is how long was waited for what is stuck.
func (fs FS) Waited() time.Duration { return fs.memory.waitedFor() }

func (m *memoryReader) waitedFor() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waited
}

// An outcome is what came of reading from the memory of a process.
type outcome[T any] struct {
	value T
	err   error
}

// readEach calls open for the processes, in order and in one goroutine: one for each would cost more than
// what is read. The real user of a process is only asked for where that matters. A process that is
// stuck is given up, and another goroutine goes on with the next; it is not asked again while that lasts. Beside
// many busy processes one may only have taken long: those that have answered when all were asked are asked once more.
func readEach[T any](m *memoryReader, pids []int, user func(pid int) int, open func(pid int) (T, error)) []outcome[T] {
	m.leaveNoted(pids, user)
	before := m.answers()
	all := readOnce(m, pids, user, open)
	m.leaveNoted(pids, user)
	if m.answers() == before {
		return all
	}
	again, at := stuckOf(all, pids)
	for i, o := range readOnce(m, again, user, open) {
		all[at[i]] = o
	}
	return all
}

// stuckOf lists the processes that are stuck, and where they are.
func stuckOf[T any](all []outcome[T], pids []int) (stuck, at []int) {
	for i, o := range all {
		if errors.Is(o.err, ErrStuck) {
			stuck, at = append(stuck, pids[i]), append(at, i)
		}
	}
	return stuck, at
}

func readOnce[T any](m *memoryReader, pids []int, user func(pid int) int, open func(pid int) (T, error)) []outcome[T] {
	var all []outcome[T]
	for len(all) < len(pids) {
		all = append(all, readUntilStuck(m, pids[len(all):], user, open)...)
	}
	return all
}

// abandoned is in place of how many were read once the process that is read has been given up.
const abandoned = -1

// readUntilStuck reads up to the first process that is stuck, whose outcome is the last.
func readUntilStuck[T any](m *memoryReader, pids []int, user func(pid int) int, open func(pid int) (T, error)) []outcome[T] {
	outcomes, done := make([]outcome[T], len(pids)), make(chan struct{})
	var read atomic.Int64 // how many were, or abandoned
	forget := make(chan func(), 1)
	go func() {
		defer close(done)
		for i, pid := range pids {
			if outcomes[i].err = ErrStuck; !m.refuses(pid, user) {
				outcomes[i].value, outcomes[i].err = open(pid)
			}
			if !read.CompareAndSwap(int64(i), int64(i+1)) {
				(<-forget)()
				return
			}
		}
	}()
	began := time.Now() // of the wait for the process that is read
	for last, seen := began, 0; ; {
		timer := time.NewTimer(m.patience())
		select {
		case <-done:
			timer.Stop()
			return outcomes
		case <-timer.C:
		}
		at := int(read.Load())
		if at == seen && at < len(pids) && read.CompareAndSwap(int64(at), abandoned) {
			forget <- m.giveUp(pids[at], user(pids[at]), time.Since(began))
			return append(slices.Clone(outcomes[:at]), outcome[T]{err: ErrStuck})
		}
		began, last, seen = last, time.Now(), at
	}
}

// readOne is [readEach] for one process.
func (m *memoryReader) readOne(pid int, user func(pid int) int, open func(pid int) ([]byte, error)) ([]byte, error) {
	only := readEach(m, []int{pid}, user, open)[0]
	return only.value, only.err
}

// refuses reports whether a process is not asked, because it was stuck or too many others were.
func (m *memoryReader) refuses(pid int, user func(pid int) int) bool {
	if m.each == 0 || m.stuck() == 0 {
		return m.each == 0
	}
	uid, most := user(pid), maxStuckUser
	if uid == 0 {
		most = m.most // root of containers is among them
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.pids[pid]; known || uid == unknownUser { // it has ended, and is nobody's
		return known
	}
	return m.byUser[uid] >= most || len(m.pids) >= m.most && !SystemAccount(uid)
}

// knows reports whether a process was stuck.
func (m *memoryReader) knows(pid int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.pids[pid]
	return known
}

func (m *memoryReader) answers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answered
}

func (m *memoryReader) stuck() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pids)
}

// patience is how long a process is waited for.
func (m *memoryReader) patience() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(leastPatience, min(m.each, totalPatience-m.waited))
}

// giveUp returns what is to be called when the process can be read after all.
func (m *memoryReader) giveUp(pid, uid int, waited time.Duration) (answers func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waited += waited
	m.leave(pid, reason{uid: uid})
	forget := m.note(pid)
	return func() {
		forget()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ask(pid)
	}
}

// note has later runs know of a process.
func (m *memoryReader) note(pid int) (forget func()) {
	if m.thing != nil {
		if of, goesOn := m.thing(pid); goesOn {
			return stuck.Note(m.root, of)
		}
	}
	return func() {}
}

func (m *memoryReader) leave(pid int, why reason) {
	if _, known := m.pids[pid]; !known {
		m.pids[pid] = why
		m.byUser[why.uid]++
	}
}

// ask has one that was left be asked again.
func (m *memoryReader) ask(pid int) {
	if why, known := m.pids[pid]; known {
		m.byUser[why.uid]--
		delete(m.pids, pid)
		m.answered++
	}
}

// leaveNoted gives up those of the processes that other runs wait for, and no longer what they waited for.
func (m *memoryReader) leaveNoted(pids []int, user func(pid int) int) {
	if m.thing == nil {
		return
	}
	some := stuck.AnyProcess(m.root)
	if !some && m.stuck() == 0 {
		return
	}
	for _, pid := range pids {
		of, goesOn := m.thing(pid)
		m.heed(pid, user, some && goesOn && stuck.Noted(m.root, of))
	}
}

// heed leaves a process that is noted, and has one asked again that is no more.
func (m *memoryReader) heed(pid int, user func(pid int) int, noted bool) {
	uid := unknownUser
	if noted {
		uid = user(pid)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if noted {
		m.leave(pid, reason{uid: uid, noted: true})
	} else if m.pids[pid].noted {
		m.ask(pid)
	}
}
