// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"sync"
	"time"
)

// ErrStuck reports a process whose memory could not be read in time.
//
// Its arguments and its environment stand in its memory, and the kernel reads them under the lock of
// its address space (proc_pid_cmdline_read in fs/proc/base.c). A thread that waits for a page of a
// network or FUSE file may hold that lock for as long as the file's server likes, so everybody
// may have a process that nobody can read.
var ErrStuck = errors.New("its memory is locked, perhaps by a thread that waits for a dead file system")

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

// unknownUser is of a process whose user cannot be read.
const unknownUser = -1

// A memoryReader reads from the memory of processes and gives up those that are stuck.
type memoryReader struct {
	mu     sync.Mutex
	waited time.Duration
	pids   map[int]bool // that are stuck
	byUser map[int]int
}

func newMemoryReader() *memoryReader {
	return &memoryReader{pids: map[int]bool{}, byUser: map[int]int{}}
}

// read calls open for a process of the user with the real ID uid. A process that was stuck
// once is not asked again.
func (m *memoryReader) read(pid, uid int, open func() ([]byte, error)) ([]byte, error) {
	patience, ok := m.patience(pid, uid)
	if !ok {
		return nil, ErrStuck
	}
	type outcome struct {
		raw []byte
		err error
	}
	done := make(chan outcome, 1)
	began := time.Now()
	go func() {
		raw, err := open()
		done <- outcome{raw, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.raw, o.err
	case <-timer.C:
		m.giveUp(pid, uid, time.Since(began))
		return nil, ErrStuck
	}
}

func (m *memoryReader) patience(pid, uid int) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pids[pid] || m.byUser[uid] >= maxStuckUser || len(m.pids) >= maxStuck && !SystemAccount(uid) {
		return 0, false
	}
	return max(leastPatience, min(readPatience, totalPatience-m.waited)), true
}

func (m *memoryReader) giveUp(pid, uid int, waited time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pids[pid], m.waited = true, m.waited+waited
	m.byUser[uid]++
}
