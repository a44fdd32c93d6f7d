// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// interval is how often files are looked at for a change.
const interval = 2 * time.Second

// A Live set of rules follows its files: what is wrong with them later changes nothing, and is
// told.
type Live struct {
	env     Environment
	sources []Source
	current atomic.Pointer[Set]

	mu   sync.Mutex // one reload at a time
	seen []state    // of the files when they were last read
	had  []bool     // which of them have rules in force
}

// A state tells one content of a file from the next; the zero value is that of no file.
type state struct {
	info os.FileInfo
}

func stateOf(info os.FileInfo) state { return state{info} }

func sameState(a, b state) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime()) && a.info.Mode() == b.info.Mode()
}

// Open loads the rules for the first time. What is wrong with a file is an error.
func Open(env Environment, sources ...Source) (*Live, error) {
	l := &Live{env: env, sources: sources}
	l.seen = l.states()
	set, err := Load(env, sources...)
	if err != nil {
		return nil, err
	}
	l.keep(set)
	return l, nil
}

// Current returns the rules in force.
func (l *Live) Current() *Set { return l.current.Load() }

// Reload reads the files anew. When one of them is wrong, or gone since it was read, the rules in
// force stay, and the error says why.
func (l *Live) Reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reload(l.states())
}

func (l *Live) reload(now []state) error {
	l.seen = now
	var gone Problems
	for i, s := range l.sources {
		if l.had[i] && now[i].info == nil {
			gone = append(gone, Problem{File: s.Path, Text: "it is gone; its rules stay in force until the guard starts anew"})
		}
	}
	if len(gone) > 0 {
		return gone
	}
	set, err := Load(l.env, l.sources...)
	if err != nil {
		return err
	}
	l.keep(set)
	return nil
}

// keep puts a set in force.
func (l *Live) keep(set *Set) {
	l.had = make([]bool, len(l.sources))
	for i, s := range l.sources {
		for _, p := range set.Policies {
			l.had[i] = l.had[i] || s.Path != "" && p.File == s.Path
		}
	}
	l.current.Store(set)
}

func (l *Live) states() []state {
	states := make([]state, len(l.sources))
	for i, s := range l.sources {
		if info, err := os.Stat(s.Path); err == nil {
			states[i] = state{info}
		}
	}
	return states
}

// Watch reloads the rules when a file has changed, until ctx ends, and calls told with what came
// of each reload. A file that is being written is left until it has not changed for a while, and
// one that is gone is told of once.
func (l *Live) Watch(ctx context.Context, told func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := l.states()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := l.states()
		if equalStates(now, last) {
			if read, err := l.reloadChanged(now); read {
				told(err)
			}
		}
		last = now
	}
}

// reloadChanged reads the files when they are not those that were read last.
func (l *Live) reloadChanged(now []state) (read bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if equalStates(now, l.seen) {
		return false, nil
	}
	return true, l.reload(now)
}

func equalStates(a, b []state) bool {
	for i := range a {
		if !sameState(a[i], b[i]) {
			return false
		}
	}
	return true
}
