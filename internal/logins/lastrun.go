// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"sentinel/internal/statefile"
)

// maxState bounds the file that keeps accounts and keys, in KiB.
const maxState = 1024

// A State is what accounts and keys there were.
type State struct {
	Version  int            `json:"version"` // 1
	At       time.Time      `json:"at"`
	Accounts map[string]int `json:"accounts"` // UIDs by name
	Admins   []string       `json:"admins"`
	Keys     []string       `json:"keys"` // user and fingerprint
}

// Check implements statefile.State.
func (s State) Check() error {
	if s.Version != 1 || s.At.IsZero() {
		return statefile.ErrForm
	}
	return nil
}

// stateOf returns the state to store. Keys that could not be read this time stay known for the next
// run that can.
func stateOf(last State, list []Account, now time.Time) State {
	s := State{Version: 1, At: now.UTC().Truncate(time.Second), Accounts: map[string]int{}, Admins: []string{}, Keys: []string{}}
	for _, a := range list {
		s.Accounts[a.Name] = a.UID
		if a.Admin {
			s.Admins = append(s.Admins, a.Name)
		}
		for _, k := range a.Keys {
			s.Keys = append(s.Keys, a.Name+" "+k.Fingerprint)
		}
		for _, k := range last.Keys {
			if a.KeysUnread && strings.HasPrefix(k, a.Name+" ") {
				s.Keys = append(s.Keys, k)
			}
		}
	}
	slices.Sort(s.Keys)
	s.Keys = slices.Compact(s.Keys)
	return s
}

// compareAndKeep compares with the last run and stores this one in its place. An error costs only the
// comparison.
func (r *Report) compareAndKeep(path string, list []Account, now time.Time) {
	last, err := statefile.Read[State](path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unavailable.Note("new", "this is the first run that is kept")
	case err != nil:
		r.Unavailable.Note("new", "the record of the last run cannot be used: "+err.Error())
	default:
		r.New = news(last, list)
	}
	if err := statefile.Write(path, stateOf(last, list, now), maxState); err != nil {
		r.Unavailable.Note("new", "this run cannot be kept for the next: "+err.Error())
	}
}

func news(last State, list []Account) *News {
	n := &News{Since: moment3339(last.At), Accounts: []string{}, Gone: []string{}, Admins: []string{}, Keys: []Key{}}
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
