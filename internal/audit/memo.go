// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A CheckOf is a check as a platform declares it: it looks at an M, which all
// checks of one run share.
type CheckOf[M any] struct {
	About
	// Run is the Run of a [Check], with m to look at.
	Run   func(ctx context.Context, m M) Finding
	Limit time.Duration // 0 means DefaultLimit
}

// Bind returns the checks of all families, in their order, bound to m.
func Bind[M any](m M, families []func() []CheckOf[M]) []Check {
	var all []Check
	for _, family := range families {
		for _, c := range family() {
			all = append(all, Check{About: c.About, Limit: c.Limit, Run: func(ctx context.Context) Finding { return c.Run(ctx, m) }})
		}
	}
	return all
}

// A Memo holds data that several checks need. The first one to request it reads it,
// within its own limit, and the others wait.
type Memo[T any] struct {
	mu    sync.Mutex
	done  chan struct{} // nil until the first Get
	value T
	err   error
}

// Get returns the result of the first call of read. If that call panicked, the
// other callers get an error.
func (m *Memo[T]) Get(read func() (T, error)) (T, error) {
	m.mu.Lock()
	first := m.done == nil
	if first {
		m.done = make(chan struct{})
	}
	m.mu.Unlock()
	if !first {
		<-m.done
		return m.value, m.err
	}
	defer close(m.done)
	m.err = errPanicked // in case read panics: a missing value must not look like an empty one
	m.value, m.err = read()
	return m.value, m.err
}

var errPanicked = errors.New("was not read to its end")

// At formats a piece of evidence: a line of a file, or the whole file when line is
// 0.
func At(file string, line int, text string) string {
	if line == 0 {
		return file + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", file, line, text)
}

// Prefixed puts the source of a finding before each line of evidence.
func Prefixed(source string, texts []string) []string {
	list := make([]string, 0, len(texts))
	for _, text := range texts {
		list = append(list, source+text)
	}
	return list
}
