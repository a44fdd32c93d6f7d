// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// An output writes whole lines to the client. It is safe for concurrent use.
type output struct {
	w      io.Writer
	failed func(error) // called when a write fails for the first time
	closed atomic.Bool
	mu     sync.Mutex
	fault  error
}

// write writes one line in one piece. After a write has failed, or after
// close, it does nothing.
func (o *output) write(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fault != nil || o.closed.Load() {
		return
	}
	if _, err := o.w.Write(line); err != nil {
		o.fault = fmt.Errorf("%w: %w", errClientGone, err)
		o.failed(o.fault)
	}
}

// close drops what is written from now on. It does not wait for a write that a
// client holds up by not reading.
func (o *output) close() { o.closed.Store(true) }

// err returns why a write failed, nil when none did.
func (o *output) err() error {
	if !o.mu.TryLock() {
		return nil
	}
	defer o.mu.Unlock()
	return o.fault
}
