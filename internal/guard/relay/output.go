// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"io"
	"sync"
)

// maxQueued is how many bytes of the guard's own answers may wait for a side that does not read.
// Whoever causes more of them waits.
const maxQueued = 1 << 20

// An output is the one writer of a stream. The pump that reads the other side writes to it
// directly and waits for its reader, which is the back-pressure. The pump that reads this side
// leaves its refusals in a queue: it would else stop reading while nobody reads its answers. It is
// safe for concurrent use.
type output struct {
	writing sync.Mutex
	w       io.WriteCloser
	midline bool  // what was written last has no end of line
	err     error // of the first write that failed

	mu     sync.Mutex // of what follows
	space  sync.Cond
	queue  []byte
	closed bool
	wake   chan struct{}
}

func newOutput(w io.WriteCloser) *output {
	o := &output{w: w, wake: make(chan struct{}, 1)}
	o.space.L = &o.mu
	go o.flushQueued()
	return o
}

// write writes a line as it is, after what is queued.
func (o *output) write(line []byte) error {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.flush()
	o.put(line)
	return o.err
}

func (o *output) put(line []byte) {
	if len(line) == 0 || o.err != nil {
		return
	}
	if o.midline {
		_, o.err = o.w.Write([]byte("\n"))
	}
	if o.err == nil {
		_, o.err = o.w.Write(line)
	}
	o.midline = line[len(line)-1] != '\n'
}

// flush writes what is queued.
func (o *output) flush() {
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
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *output) flushQueued() {
	for range o.wake {
		o.writing.Lock()
		o.flush()
		o.writing.Unlock()
	}
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
	o.writing.Lock()
	defer o.writing.Unlock()
	o.flush()
	close(o.wake)
	if err := o.w.Close(); o.err == nil {
		o.err = io.ErrClosedPipe
		if err != nil {
			o.err = err
		}
	}
}
