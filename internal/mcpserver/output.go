// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// An output writes whole lines to the client. It is safe for concurrent use.
type output struct {
	w      io.Writer
	stall  time.Duration // how long one write may take
	failed func(error)   // called when a write fails or takes too long
	closed atomic.Bool
	mu     sync.Mutex
	fault  error
}

// write writes one line in one piece. After a failed write, or after close, it
// does nothing. A client that neither reads nor goes away would block it for ever, and with
// it the reader of requests, which would not see the end of its input: failed ends that.
func (o *output) write(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fault != nil || o.closed.Load() {
		return
	}
	late := time.AfterFunc(o.stall, func() {
		o.failed(fmt.Errorf("%w: nothing could be written for %v", errClientGone, o.stall))
	})
	defer late.Stop()
	if _, err := o.w.Write(line); err != nil {
		o.fault = fmt.Errorf("%w: %w", errClientGone, err)
		o.failed(o.fault)
	}
}

// waitRead waits until the client has read what was written; see the function of that name.
func (o *output) waitRead() { waitRead(o.w) }

// writeLine writes a message as a line.
func (o *output) writeLine(message []byte) { o.write(append(message, '\n')) }

// close makes later writes do nothing. It does not wait for a write that a
// client blocks by not reading.
func (o *output) close() { o.closed.Store(true) }

// err returns why a write failed, nil when none did.
func (o *output) err() error {
	if !o.mu.TryLock() {
		return nil
	}
	defer o.mu.Unlock()
	return o.fault
}
