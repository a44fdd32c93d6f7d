// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A Reporter writes the progress of a run for the program that started it. It
// is safe for concurrent use; a nil one writes nothing.
type Reporter struct {
	w io.Writer

	mu      sync.Mutex
	percent int
	words   string
	writing chan struct{} // full while a line is on its way
}

// attention is how long a run waits for whoever is to take a line. One that does not read its end of
// a pipe must not hold up a change, nor choose when it is made.
const attention = 100 * time.Millisecond

// NewReporter returns one that writes to w, standard error.
func NewReporter(w io.Writer) *Reporter {
	return &Reporter{w: w, words: "working", writing: make(chan struct{}, 1)}
}

// Say writes a line.
func (r *Reporter) Say(percent int, words string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.percent, r.words = percent, words
	r.write(words)
}

// write leaves the line out while nobody takes the one before.
func (r *Reporter) write(words string) {
	select {
	case r.writing <- struct{}{}:
	default:
		return
	}
	line, written := Line(r.percent, words), make(chan struct{})
	go func() {
		io.WriteString(r.w, line) //nolint:errcheck // the answer does not depend on who listens
		<-r.writing
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(attention):
	}
}

// Start begins to repeat the last line every two seconds, with the time that has
// passed: what is read from a slow disk says nothing meanwhile. It returns what ends that.
func (r *Reporter) Start() (stop func()) {
	if r == nil {
		return func() {}
	}
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		r.repeat(over)
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-gone
	})
}

func (r *Reporter) repeat(over <-chan struct{}) {
	for began := time.Now(); ; {
		select {
		case <-over:
			return
		case <-time.After(patience):
		}
		r.mu.Lock()
		r.write(fmt.Sprintf("%s (%d s so far)", r.words, int(time.Since(began).Seconds())))
		r.mu.Unlock()
	}
}
