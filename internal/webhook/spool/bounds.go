// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// enforceBounds drops documents that are too old, and of the rest those that there is no room for. It returns
// what is left and how many it dropped.
//
// A document from the future was written before the clock was set back. It counts
// as written now, or it would stay until the clock has caught up. own is the document that was
// just written, if any; see restartAges.
func (s *Spool) enforceBounds(own entry) (left []entry, dropped int, err error) {
	all, err := s.list()
	if err != nil {
		return nil, 0, err
	}
	s.restartAges(all, own)
	now := s.now()
	young := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return now.Sub(e.at) > s.maxAge })
	stays := s.room(young)
	for _, e := range all {
		if !stays[e] {
			if err := s.remove(e); err != nil {
				return nil, dropped, err
			}
			dropped++
			continue
		}
		if e.at.Sub(now) > maxClockSkew {
			e = s.touch(e)
		}
		left = append(left, e)
	}
	return left, dropped, nil
}

// room returns the documents that there is room for, of a list with the oldest first. What users had sent goes
// before reports of this machine, or whoever may send would push out what its owner waits for; of users the one
// with most loses the oldest first.
func (s *Spool) room(list []entry) map[entry]bool {
	stays, total := map[entry]bool{}, int64(0)
	queues, sizes := map[string][]entry{}, map[string]int64{} // by sender
	for _, e := range list {
		stays[e], total = true, total+e.size
		queues[e.sender] = append(queues[e.sender], e)
		sizes[e.sender] += e.size
	}
	for total > s.maxBytes {
		most := greediest(sizes)
		oldest := queues[most][0]
		queues[most], sizes[most], total = queues[most][1:], sizes[most]-oldest.size, total-oldest.size
		delete(stays, oldest)
	}
	return stays
}

// greediest returns the user with most, "" where only reports are left.
func greediest(sizes map[string]int64) (most string) {
	for sender, size := range sizes {
		if sender != "" && size > 0 && (most == "" || size > sizes[most] || size == sizes[most] && sender < most) {
			most = sender
		}
	}
	return most
}

// restartAges makes documents new again when all but own are too old at once. Then
// the clock was set forward, as on a machine that gets the time from the network, or nothing was
// sent for that long: they were not tried until they expired.
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

// touch changes the time of an entry to now. Its number, and so its place, stays.
// If the rename fails, another process was faster or the next one does it.
func (s *Spool) touch(e entry) entry {
	fresh := e
	fresh.at = s.now()
	if err := os.Rename(filepath.Join(s.dir, e.name()), filepath.Join(s.dir, fresh.name())); err != nil {
		return e
	}
	return fresh
}

// removeLeftovers removes what crashes left behind, and what nobody has to be told any more.
func (s *Spool) removeLeftovers() error {
	names, err := s.names()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if !strings.HasPrefix(name, partial) && !strings.HasSuffix(name, arrived) {
			continue
		}
		path := filepath.Join(s.dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue // it was finished
		}
		if age := s.now().Sub(info.ModTime()); age > leftoverAge || age < -leftoverAge {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}
