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
}

// NewReporter returns one that writes to w, standard error.
func NewReporter(w io.Writer) *Reporter { return &Reporter{w: w, words: "working"} }

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

func (r *Reporter) write(words string) {
	io.WriteString(r.w, Line(r.percent, words)) //nolint:errcheck // the answer does not depend on who listens
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
