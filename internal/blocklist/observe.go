// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"bytes"
	"context"
	"time"
)

// How often, and at which interval, the kernel is read until what it shows can be
// relied on.
const (
	maxReads     = 10
	readInterval = 50 * time.Millisecond
)

// observe reads the kernel and the file at one moment; known is an earlier content
// of the file. It takes no lock, because a reader that is suspended would then keep every
// writer waiting. Instead it reads both again while the file changes or a change is under
// way. Otherwise a difference counts once it shows twice, because the kernel shows only a
// part of a large set while it rearranges it.
func (l *List) observe(ctx context.Context, b Backend, known fileContent) (fileContent, *filterState, error) {
	var last, before *filterState // before is set when nothing was under way
	unsure := false               // whether a change is under way is not known, and not asked again
	for range maxReads {
		blocks, effective, err := loaded(ctx, b)
		if err != nil {
			return known, nil, err
		}
		k := newFilterState(blocks, effective)
		again, err := l.read(known)
		if err != nil { // it was damaged just now, of which the next run tells
			return known, k, nil
		}
		calm := again.missing == known.missing && bytes.Equal(again.raw, known.raw) && !unsure
		if calm {
			held, err := l.locked(l.lockPath())
			calm, unsure = !held && err == nil, err != nil
		}
		known = again
		if calm && (k.matches(known.entries, l.now()) || k.same(before)) {
			return known, k, nil
		}
		last, before = k, nil
		if calm {
			before = k
		}
		l.pause(ctx)
	}
	return known, last, nil
}

// readTwice reads all that the kernel drops until it shows the same twice: a list
// that is made from it must be complete.
func (l *List) readTwice(ctx context.Context, b Backend) ([]Block, bool, error) {
	blocks, effective, err := loaded(ctx, b)
	for n := 1; n < maxReads && err == nil && len(blocks) > 0; n++ {
		before := newFilterState(blocks, effective)
		l.pause(ctx)
		blocks, effective, err = loaded(ctx, b)
		if err == nil && newFilterState(blocks, effective).same(before) {
			break
		}
	}
	return blocks, effective, err
}

func (l *List) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(l.readInterval):
	}
}

// matches says that the kernel drops what is listed and holds nothing else.
func (k *filterState) matches(entries []entry, now time.Time) bool {
	wanted := 0
	for _, e := range entries {
		if e.Suspended != "" || e.over(now) {
			continue
		}
		if !k.drops(e.Address) {
			return false
		}
		wanted++
	}
	return wanted == len(k.left)
}

// same says that another reading, or nil for none, shows the same addresses.
func (k *filterState) same(other *filterState) bool {
	if other == nil || k.effective != other.effective || len(k.left) != len(other.left) {
		return false
	}
	for a := range k.left {
		if _, held := other.left[a]; !held {
			return false
		}
	}
	return true
}
