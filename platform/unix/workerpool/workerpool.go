// SPDX-License-Identifier: Apache-2.0

// Package workerpool has the directories of a tree read by several goroutines, and goes on past one that does not
// answer.
//
// Any user can keep a directory that they may list from being read, and names in it from being looked up, for as
// long as they like: they list it into memory that their own file system serves, under the lock of its inode. Whoever
// reads it then waits where no signal ends it. A disk that is gone does the same. A goroutine in such a call cannot be
// taken out of it, so another one takes its place.
package workerpool

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of waiting for one directory. A disk that sleeps takes seconds to wake: who is replaced is still waited
// for while there is something else to read, and a while longer.
const (
	pause        = 50 * time.Millisecond // between two looks at the workers
	replaceAfter = 5                     // pauses without a step
	leaveAfter   = 60
	// maxReplaced bounds how many are replaced at a time. Each keeps a thread, which may outlast the run.
	maxReplaced = 30
	// grace is how long a read that is under way when the time ends may still take.
	grace = 300 * time.Millisecond
)

// Steps are counted by who reads, so that a large directory is told from one that does not answer.
type Steps struct{ taken atomic.Uint64 }

// Take notes that something was read.
func (s *Steps) Take() { s.taken.Add(1) }

// A Pool says how directories D are read. R is what one reading brings.
type Pool[D, R any] struct {
	// Read may wait for ever.
	Read func(s *Steps, d D) R
	// Add takes over what was read and returns what is to be read next, the last first. It is called by one
	// goroutine at a time, and not after Run has returned.
	Add func(d D, r R) []D
	// Late is called instead for what comes after that.
	Late func(d D, r R)
	// Note tells others of what is still being read when Run returns, if it is set; what it returns is called when
	// that has been read after all.
	Note func(d D) (forget func())
	// Workers is how many read at a time.
	Workers int
}

// Run reads first, and what is found in it. It returns when all is read but what does not answer, or soon after ctx
// ends: left is what was not read then, and stuck what is still being read.
func (p Pool[D, R]) Run(ctx context.Context, first ...D) (left, stuck []D) {
	if ctx.Err() != nil {
		return first, nil
	}
	r := &run[D, R]{Pool: p, ctx: ctx, waiting: slices.Clone(first), busy: map[*worker[D]]bool{}, idle: make(chan struct{}, 1)}
	r.wake = sync.NewCond(&r.mu)
	r.begin()
	r.supervise(ctx)
	return r.end()
}

type run[D, R any] struct {
	Pool[D, R]
	ctx  context.Context
	idle chan struct{} // nothing is being read, nor will be

	mu       sync.Mutex // guards all below
	wake     *sync.Cond
	waiting  []D // a stack, so that few directories are known of at a time
	busy     map[*worker[D]]bool
	hired    int // without those that were replaced
	replaced int
	stopped  bool // no other is read
	over     bool // Run has returned
}

// A worker reads one directory at a time.
type worker[D any] struct {
	Steps
	at       D
	seen     uint64 // steps
	quiet    int    // pauses without any
	replaced bool
	forget   func()
}

func (r *run[D, R]) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range r.Workers {
		r.hire()
	}
}

// hire starts a worker. The mutex is held.
func (r *run[D, R]) hire() {
	r.hired++
	go func() {
		w := &worker[D]{}
		for r.next(w) {
			if found := r.Read(&w.Steps, w.at); !r.done(w, found) {
				r.Late(w.at, found)
				w.forget()
				return
			}
		}
	}()
}

// next gives a worker a directory. It returns false to one who is not needed any more.
func (r *run[D, R]) next(w *worker[D]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.over && r.hired <= r.Workers && (len(r.waiting) == 0 || r.stopped) {
		r.wake.Wait()
	}
	if r.over || r.hired > r.Workers {
		r.hired--
		return false
	}
	var none D
	last := len(r.waiting) - 1
	w.at, r.waiting[last], r.waiting, w.quiet = r.waiting[last], none, r.waiting[:last], 0
	r.busy[w] = true
	return true
}

// done takes over what a worker found, if that is still wanted.
func (r *run[D, R]) done(w *worker[D], found R) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	delete(r.busy, w)
	if w.replaced {
		w.replaced = false
		r.replaced--
		r.hired++
	}
	r.waiting = append(r.waiting, r.Add(w.at, found)...)
	r.stopped = r.stopped || r.ctx.Err() != nil // what was found may be what ends it
	r.wake.Broadcast()
	r.tellIdle()
	return true
}

// tellIdle ends the run when all was read. The mutex is held.
func (r *run[D, R]) tellIdle() {
	if len(r.busy) == 0 && (len(r.waiting) == 0 || r.stopped) {
		select {
		case r.idle <- struct{}{}:
		default:
		}
	}
}

// supervise returns when the run is to end.
func (r *run[D, R]) supervise(ctx context.Context) {
	look := time.NewTicker(pause)
	defer look.Stop()
	ended, late := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case <-r.idle:
			return
		case <-late:
			return
		case <-ended:
			ended, late = nil, time.After(grace)
			r.stop()
		case <-look.C:
			if r.onlyStuck() {
				return
			}
		}
	}
}

// stop has nothing else read.
func (r *run[D, R]) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.tellIdle()
}

// onlyStuck replaces who does not get on, and says whether there is nobody else, nor will be.
func (r *run[D, R]) onlyStuck() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	stuck := 0
	for w := range r.busy {
		r.look(w)
		if w.quiet >= leaveAfter {
			stuck++
		}
	}
	return stuck > 0 && stuck == len(r.busy) && (len(r.waiting) == 0 || r.replaced >= maxReplaced)
}

// look counts in pauses that were seen to pass, not by the clock: a machine that gives this program no time is no reason
// to give a directory up. The mutex is held.
func (r *run[D, R]) look(w *worker[D]) {
	if taken := w.taken.Load(); taken != w.seen {
		w.seen, w.quiet = taken, 0
		return
	}
	w.quiet++
	if w.quiet >= replaceAfter && !w.replaced && r.replaced < maxReplaced {
		w.replaced = true
		r.replaced++
		r.hired--
		r.hire()
	}
}

// end lets the workers go.
func (r *run[D, R]) end() (left, stuck []D) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.wake.Broadcast()
	for w := range r.busy {
		stuck, w.forget = append(stuck, w.at), func() {}
		if r.Note != nil {
			w.forget = r.Note(w.at)
		}
	}
	return r.waiting, stuck
}
