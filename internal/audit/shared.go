// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// A CheckOf is a check as a platform writes it down: it looks at an M, which all
// checks of one run share.
type CheckOf[M any] struct {
	About
	// Run looks at m and judges, as that of a [Check] does.
	Run   func(ctx context.Context, m M) Finding
	Limit time.Duration // 0 means DefaultLimit
}

// Bind returns the checks of all families, in their order, each of which looks at
// m.
func Bind[M any](m M, families []func() []CheckOf[M]) []Check {
	var all []Check
	for _, family := range families {
		for _, c := range family() {
			all = append(all, Check{About: c.About, Limit: c.Limit, Run: func(ctx context.Context) Finding { return c.Run(ctx, m) }})
		}
	}
	return all
}

// A Memo keeps what several checks ask for. The first one to ask reads, within
// its own limit, and the others wait for it.
type Memo[T any] struct {
	mu    sync.Mutex
	done  chan struct{} // nil until somebody asks
	value T
	err   error
}

// Get returns what read did the first time that somebody asked. Where it panicked
// then, it is an error for everybody else.
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
	m.err = errBroken // stays when read panics: nothing read must not look like something
	m.value, m.err = read()
	return m.value, m.err
}

var errBroken = errors.New("was not read to its end")

// At is a piece of evidence: a line of a file, or the whole file where line is 0.
func At(file string, line int, text string) string {
	if line == 0 {
		return file + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", file, line, text)
}

// Prefixed puts the source of a finding before each of its lines of evidence.
func Prefixed(source string, texts []string) []string {
	list := make([]string, 0, len(texts))
	for _, text := range texts {
		list = append(list, source+text)
	}
	return list
}

// Count is a number with what is counted, in the words for one or for many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
