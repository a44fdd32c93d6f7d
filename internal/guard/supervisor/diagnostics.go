// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// maxDiagnostics is how many bytes of what the guard has to say may wait for who reads it.
const maxDiagnostics = 64 << 10

// lastWords is how long the end of the guard waits for who reads its diagnostics.
const lastWords = 500 * time.Millisecond

// Diagnostics take what the guard has to say to who runs it, and write it to a stream that a client
// may never read. Who writes to them never waits: what has no room is dropped and counted. They are
// safe for concurrent use.
type Diagnostics struct {
	w io.Writer

	mu      sync.Mutex
	queue   []byte
	dropped int
	written chan struct{} // closed once nothing waits; nil while nothing does
}

// NewDiagnostics returns diagnostics that are written to w.
func NewDiagnostics(w io.Writer) *Diagnostics { return &Diagnostics{w: w} }

// Write leaves whole lines to be written. It never fails.
func (d *Diagnostics) Write(lines []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) > 0 && len(d.queue)+len(lines) > maxDiagnostics {
		d.dropped++
		return len(lines), nil
	}
	d.queue = append(d.queue, lines...)
	if d.written == nil {
		d.written = make(chan struct{})
		go d.deliver()
	}
	return len(lines), nil
}

func (d *Diagnostics) deliver() {
	for lines := d.next(); lines != nil; lines = d.next() {
		d.w.Write(lines) //nolint:errcheck // there is nobody else to tell
	}
}

// next takes all that waits, nil when that is nothing.
func (d *Diagnostics) next() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.queue
	d.queue = nil
	if d.dropped > 0 {
		lines = fmt.Appendf(lines, "sentinel-guard: nobody read what it had to say, and %d more of that was dropped\n", d.dropped)
		d.dropped = 0
	}
	if lines == nil {
		close(d.written)
		d.written = nil
	}
	return lines
}

// Flush waits until all is written, or half a second when nobody reads.
func (d *Diagnostics) Flush() {
	d.mu.Lock()
	written := d.written
	d.mu.Unlock()
	if written != nil {
		waitFor(lastWords, written)
	}
}
