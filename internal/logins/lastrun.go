// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"sentinel/internal/humanize"
	"sentinel/internal/statefile"
	"sentinel/internal/timespec"
)

// Bounds of the file that keeps accounts and keys.
const (
	maxState = 2048 // KiB
	maxKept  = 8000 // keys of all accounts, those among them that were known once and may be there still
)

// A State is what accounts and keys there were.
type State struct {
	At       time.Time      `json:"at"`
	Accounts map[string]int `json:"accounts"` // UIDs by name
	Admins   []string       `json:"admins"`
	Keys     []string       `json:"keys"` // user and fingerprint
}

// Time implements statefile.Run.
func (s State) Time() time.Time { return s.At }

// Check implements statefile.State.
func (s State) Check() error { return nil }

// stateOf returns the state to store. Keys that could not be read this time stay known for the next
// run that can. Where keys are too many, the accounts that have most lose first; lost counts those keys.
func stateOf(last State, list []Account, now time.Time) (s State, lost int) {
	s = State{At: now.UTC().Truncate(time.Second), Accounts: map[string]int{}, Admins: []string{}, Keys: []string{}}
	for _, a := range list {
		s.Accounts[a.Name] = a.UID
		if a.Admin {
			s.Admins = append(s.Admins, a.Name)
		}
	}
	keys := keysOf(last, list)
	var counts []int
	for _, own := range keys {
		counts = append(counts, len(own))
	}
	share := statefile.Share(counts, maxKept)
	for _, own := range keys {
		s.Keys = append(s.Keys, own[:min(share, len(own))]...)
		lost += max(0, len(own)-share)
	}
	slices.Sort(s.Keys)
	return s, lost
}

// keysOf are the keys of each account, first those that were read.
func keysOf(last State, list []Account) map[string][]string {
	keys, seen := map[string][]string{}, map[string]bool{}
	add := func(name, key string) {
		if !seen[key] {
			seen[key] = true
			keys[name] = append(keys[name], key)
		}
	}
	unread := map[string]bool{}
	for _, a := range list {
		unread[a.Name] = unread[a.Name] || a.KeysUnread
		for _, k := range a.Keys {
			add(a.Name, a.Name+" "+k.Fingerprint)
		}
	}
	for _, key := range last.Keys {
		if name, _, _ := strings.Cut(key, " "); unread[name] {
			add(name, key)
		}
	}
	return keys
}

// compareAndKeep compares with the last run and stores this one in its place. An error costs only the
// comparison.
func (r *Report) compareAndKeep(path string, list []Account, now time.Time) {
	kept, err := statefile.Read[statefile.File[State]](path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unavailable.Note("new", "this is the first run that is kept")
	case err != nil:
		r.Unavailable.Note("new", "the record of the last run cannot be used: "+err.Error())
	default:
		if r.New = news(kept.Since(now), list); kept.Continues(now) {
			return
		}
	}
	next, lost := stateOf(kept.Last, list, now)
	if lost > 0 {
		r.Unavailable.Note("new", humanize.Count(lost, "key", "keys")+" of the accounts that have most cannot be kept: the next run takes them for new")
	}
	if err := statefile.Write(path, statefile.NewFile(kept.Add(next)), maxState); err != nil {
		r.Unavailable.Note("new", "this run cannot be kept for the next: "+err.Error())
	}
}

func news(last State, list []Account) *News {
	n := &News{Since: timespec.Format(last.At), Accounts: []string{}, Gone: []string{}, Admins: []string{}, Keys: []Key{}}
	there := map[string]bool{}
	for _, a := range list {
		there[a.Name] = true
		if uid, known := last.Accounts[a.Name]; !known || uid != a.UID {
			n.Accounts = append(n.Accounts, userText(a.Name))
		}
		if a.Admin && !slices.Contains(last.Admins, a.Name) {
			n.Admins = append(n.Admins, userText(a.Name))
		}
		for _, k := range a.Keys {
			if !slices.Contains(last.Keys, a.Name+" "+k.Fingerprint) {
				n.Keys = append(n.Keys, k)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last.Accounts)) {
		if !there[name] {
			n.Gone = append(n.Gone, userText(name))
		}
	}
	return n
}
