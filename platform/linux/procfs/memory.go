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
	root string        // where runs note what is stuck; empty for what no run stays for

	mu     sync.Mutex
	waited time.Duration
	pids   map[int]bool // that are stuck
	byUser map[int]int
}

func newMemoryReader() *memoryReader { return newReader(readPatience, maxStuck) }

func newReader(each time.Duration, most int) *memoryReader {
	return &memoryReader{each: each, most: most, pids: map[int]bool{}, byUser: map[int]int{}}
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
func (fs FS) Waited() time.Duration {
	fs.memory.mu.Lock()
	defer fs.memory.mu.Unlock()
	return fs.memory.waited
}

// An outcome is what came of reading from the memory of a process.
type outcome[T any] struct {
	value T
	err   error
}

// readEach calls open for the processes, in order and in one goroutine: one for each would cost more than
// what is read. The real user of a process is only asked for where that matters. A process that is
// stuck is given up, and another goroutine goes on with the next; one that was stuck once is not asked
// again.
func readEach[T any](m *memoryReader, pids []int, user func(pid int) int, open func(pid int) (T, error)) []outcome[T] {
	var all []outcome[T]
	for len(all) < len(pids) {
		all = append(all, readUntilStuck(m, pids[len(all):], user, open)...)
	}
	return all
}

// readUntilStuck reads up to the first process that is stuck, whose outcome is the last.
func readUntilStuck[T any](m *memoryReader, pids []int, user func(pid int) int, open func(pid int) (T, error)) []outcome[T] {
	outcomes, done := make([]outcome[T], len(pids)), make(chan struct{})
	var read atomic.Int32
	var abandoned atomic.Bool
	forget := make(chan func(), 1)
	go func() {
		defer close(done)
		for i, pid := range pids {
			if outcomes[i].err = ErrStuck; !m.refuses(pid, user) {
				outcomes[i].value, outcomes[i].err = open(pid)
			}
			read.Store(int32(i + 1))
			if abandoned.Load() {
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
		if at == seen && at < len(pids) {
			abandoned.Store(true)
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
	return m.pids[pid] || m.byUser[uid] >= most || len(m.pids) >= m.most && !SystemAccount(uid)
}

// knows reports whether a process was stuck.
func (m *memoryReader) knows(pid int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pids[pid]
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
func (m *memoryReader) giveUp(pid, uid int, waited time.Duration) (forget func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waited += waited
	m.leave(pid, uid)
	if m.root == "" {
		return func() {}
	}
	return stuck.Note(m.root, stuck.Process(pid))
}

func (m *memoryReader) leave(pid, uid int) {
	m.pids[pid] = true
	m.byUser[uid]++
}

// leaveNoted gives up what other runs wait for.
func (m *memoryReader) leaveNoted(user func(pid int) int) {
	for _, pid := range stuck.Processes(m.root, m.most) {
		if uid := user(pid); !m.knows(pid) {
			m.mu.Lock()
			m.leave(pid, uid)
			m.mu.Unlock()
		}
	}
}
