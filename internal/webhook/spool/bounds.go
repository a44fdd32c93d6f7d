// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// enforceBounds keeps the bounds: it drops what is too old, and the oldest while all
// together are too large. It returns what is left and how many it dropped.
//
// A document from the future was written before the clock was set back. It counts
// as written now: else it would stay until the clock has caught up, which may be never. own is the
// document that was just written, if there is one; see forgive.
func (s *Spool) enforceBounds(own entry) (left []entry, dropped int, err error) {
	all, err := s.list()
	if err != nil {
		return nil, 0, err
	}
	s.restartAges(all, own)
	now, total := s.now(), int64(0)
	for _, e := range all {
		total += e.size
	}
	for _, e := range all {
		if now.Sub(e.at) > s.maxAge || total > s.maxBytes {
			if err := s.remove(e); err != nil {
				return nil, dropped, err
			}
			total, dropped = total-e.size, dropped+1
			continue
		}
		if e.at.Sub(now) > maxClockSkew {
			e = s.touch(e)
		}
		left = append(left, e)
	}
	return left, dropped, nil
}

// restartAges lets documents wait anew when all but the own one are too old at once.
// Then the clock was set forward, as on a machine that learns the time from the network, or
// nobody reported for that long; their age does not say that the receiver had its chance.
func (s *Spool) restartAges(all []entry, own entry) {
	if own.id == "" || slices.ContainsFunc(all, func(e entry) bool { return e.id != own.id && s.now().Sub(e.at) <= s.maxAge }) {
		return
	}
	for i, e := range all {
		if e.id != own.id {
			all[i] = s.touch(e)
		}
	}
}

// touch gives an entry the time it is now. Its number stays, and with it its
// place. Where it cannot be done, another run was faster, or the next one does it.
func (s *Spool) touch(e entry) entry {
	fresh := e
	fresh.at = s.now()
	if err := os.Rename(filepath.Join(s.dir, e.name()), filepath.Join(s.dir, fresh.name())); err != nil {
		return e
	}
	return fresh
}

// removeLeftovers removes what crashes left behind.
func (s *Spool) removeLeftovers() error {
	names, err := s.names()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if !strings.HasPrefix(name, partial) {
			continue
		}
		path := filepath.Join(s.dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue // it was finished
		}
		if age := s.now().Sub(info.ModTime()); age > partialAge || age < -partialAge {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}
