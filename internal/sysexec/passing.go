// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"io"
	"sync"
)

// A passing writer hands a stream on as it arrives, until its reader has enough. The program then
// finds its output closed, and is asked to end in case it does not look.
type passing struct {
	to     func(piece []byte) bool
	enough func()

	mu     sync.Mutex
	done   bool // the reader has enough
	closed bool // Run has returned
}

// Write implements [io.Writer].
func (w *passing) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	if w.to(p) {
		return len(p), nil
	}
	w.done, w.closed = true, true
	w.enough()
	return 0, io.ErrClosedPipe
}

// close ends the calls of a program that Run does not wait for any longer.
func (w *passing) close() {
	if w != nil {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
	}
}

// Passed hands the stdout of a result to OnStdout, as Run does while a program prints it, for
// runners that have results already.
func (c Command) Passed(r Result) Result {
	if c.OnStdout == nil {
		return r
	}
	if len(r.Stdout) > 0 && !c.OnStdout(r.Stdout) {
		r.Exit = 0
	}
	r.Stdout = nil
	return r
}
