// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"io"
	"sync"
)

// maxGathered is how many bytes of lines are gathered for one write, while more of them are there.
const maxGathered = 64 << 10

// maxQueued is how many bytes of the guard's own answers may wait for a side that does not read.
// Whoever causes more of them waits.
const maxQueued = 1 << 20

// An output is the one writer of a stream. The pump that reads the other side writes to it
// directly and waits for its reader, which is the back-pressure. The pump that reads this side
// leaves its refusals in a queue: it would else stop reading while nobody reads its answers. It is
// safe for concurrent use.
type output struct {
	writing  sync.Mutex
	w        io.WriteCloser
	gathered []byte
	midline  bool  // what came last has no end of line
	err      error // of the first write that failed
	lost     error // of a write that panicked, until flush has told

	mu       sync.Mutex // of what follows
	space    sync.Cond
	queue    []byte
	flushing bool // somebody is about to write what is queued
	closed   bool
}

func newOutput(w io.WriteCloser) *output {
	o := &output{w: w}
	o.space.L = &o.mu
	return o
}

// write writes a line as it is, after what is queued. It may wait for more lines until flush.
func (o *output) write(line []byte) {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.takeQueued()
	o.put(line)
}

// flush writes all that was gathered. The error is that of the first write that ever failed, or of
// one that panicked since flush was called last.
func (o *output) flush() error {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.takeQueued()
	o.writeGathered()
	lost := o.lost
	o.lost = nil
	if o.err != nil {
		return o.err
	}
	return lost
}

func (o *output) put(line []byte) {
	if len(line) == 0 {
		return
	}
	if o.midline {
		o.gathered = append(o.gathered, '\n')
	}
	o.midline = line[len(line)-1] != '\n'
	if len(o.gathered)+len(line) <= maxGathered {
		o.gathered = append(o.gathered, line...)
		return
	}
	o.writeGathered()
	o.writeNow(line)
}

func (o *output) writeGathered() {
	o.writeNow(o.gathered)
	o.gathered = o.gathered[:0]
}

// writeNow writes. After a panic nobody knows how much of it: what comes next begins a line.
func (o *output) writeNow(b []byte) {
	if o.err != nil || len(b) == 0 {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			o.midline, o.lost = true, newPanicError(cause)
		}
	}()
	_, o.err = o.w.Write(b)
}

// takeQueued writes what is queued.
func (o *output) takeQueued() {
	o.mu.Lock()
	queue := o.queue
	o.queue = nil
	o.mu.Unlock()
	if queue != nil {
		o.put(queue)
		o.space.Broadcast()
	}
}

// post leaves whole lines to be written soon.
func (o *output) post(lines []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > maxQueued && !o.closed {
		o.space.Wait()
	}
	if o.closed {
		return
	}
	o.queue = append(o.queue, lines...)
	if !o.flushing {
		o.flushing = true
		go o.flushQueued()
	}
}

func (o *output) flushQueued() {
	o.writing.Lock()
	defer o.writing.Unlock() // what failed is told to who writes next
	o.mu.Lock()
	o.flushing = false
	o.mu.Unlock()
	o.takeQueued()
	o.writeGathered()
}

// close closes the stream after what is queued. Nothing is written after it.
func (o *output) close() {
	o.mu.Lock()
	was := o.closed
	o.closed = true
	o.mu.Unlock()
	o.space.Broadcast()
	if was {
		return
	}
	o.flush() //nolint:errcheck // nobody writes any more
	o.writing.Lock()
	defer o.writing.Unlock()
	if err := o.closeNow(); o.err == nil {
		o.err = cmp.Or(err, io.ErrClosedPipe)
	}
}

func (o *output) closeNow() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicError(cause)
		}
	}()
	return o.w.Close()
}
