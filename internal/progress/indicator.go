// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode"

	"sentinel/internal/sanitize"
)

// patience is how long nothing is shown: what is answered by then needs no indicator.
const patience = 2 * time.Second

// widest is how much fits on a line of every terminal, in columns.
const widest = 78

// firstWide is the first of the characters that may take two columns (Unicode, EastAsianWidth.txt), but for
// punctuation, which does not.
const firstWide = 0x1100

// An Indicator shows a person at a terminal that something is still going on. It writes one line
// again and again, and erases it in the end. A nil Indicator shows nothing.
type Indicator struct {
	w     io.Writer
	title string

	mu      sync.Mutex
	percent int // -1 where it is not known
	words   string
}

// NewIndicator returns one that shows title on w, a terminal.
func NewIndicator(w io.Writer, title string) *Indicator {
	return &Indicator{w: w, title: title, percent: -1}
}

// Set sets how much is done, in percent, and what is done next.
func (i *Indicator) Set(percent int, words string) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.percent, i.words = percent, words
}

// Start begins to show it, two seconds from now, and returns what ends that: once it has returned,
// the line is gone.
func (i *Indicator) Start() (stop func()) {
	if i == nil {
		return func() {}
	}
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		i.show(over)
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-gone
	})
}

func (i *Indicator) show(over <-chan struct{}) {
	began := time.Now()
	wait := patience
	for {
		select {
		case <-over:
			if wait != patience {
				io.WriteString(i.w, "\r\x1b[K") //nolint:errcheck // nobody looks
			}
			return
		case <-time.After(wait):
		}
		wait = time.Second
		io.WriteString(i.w, "\r"+i.line(time.Since(began))+"\x1b[K") //nolint:errcheck // nobody looks
	}
}

func (i *Indicator) line(took time.Duration) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	text := fmt.Sprintf("%s … %d s", i.title, int(took.Seconds()))
	if i.percent >= 0 {
		text += fmt.Sprintf(", %d %%", i.percent)
	}
	if i.words != "" {
		text += ": " + i.words
	}
	return narrow(sanitize.Text(text, widest)) // a line that wraps is not erased
}

// narrow cuts a text to what fits on the line. Another machine may have chosen its words.
func narrow(text string) string {
	columns := 0
	for i, r := range text {
		columns++
		if r >= firstWide && !unicode.IsPunct(r) {
			columns++
		}
		if columns > widest {
			return text[:i]
		}
	}
	return text
}
