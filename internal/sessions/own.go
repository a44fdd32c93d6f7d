// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"strings"
)

// judge decides whose the sessions are. Where the way up from this run leads to none, each may be the
// caller's own, except that somebody who sits at the screen of the machine and has no terminal, as
// the program of a desktop, can only be another of their own.
func (f *finder) judge() {
	if f.ownKnown() {
		return
	}
	user := f.desktopUser()
	for _, l := range f.logins {
		if l.Whose == Others && (user == "" || l.User == "" || l.User == user) {
			l.Whose = PossiblyOwn
		}
	}
	if len(f.snapshot.Hint) > 0 && !slices.ContainsFunc(f.logins, func(l *login) bool { return l.Whose == Own }) {
		f.logins = append(f.logins, &login{Session: &Session{Whose: PossiblyOwn}})
	}
}

// ownKnown reports whether the way up from this run leads to a session. A terminal on the way that
// something else serves, such as tmux, breaks it: whoever is connected there may be anybody.
func (f *finder) ownKnown() bool {
	for _, l := range f.logins {
		if l.Whose == Own && len(l.sockets) > 0 {
			return true
		}
	}
	for _, pid := range f.line {
		if p := f.processes[pid]; p.Terminal != "" && !p.Pseudo {
			return true
		}
		if slices.ContainsFunc(f.snapshot.Logins, func(l Login) bool { return l.Manager && l.Leader == pid && !l.Remote }) {
			return true
		}
	}
	return false
}

// desktopUser names the user who sits at the machine's own screen if this run comes from their
// service manager without a terminal; empty otherwise.
func (f *finder) desktopUser() string {
	for _, pid := range f.line {
		if f.processes[pid].Terminal != "" {
			return ""
		}
	}
	if len(f.line) == 0 {
		return ""
	}
	top := f.describe(f.line[len(f.line)-1])
	seated := slices.ContainsFunc(f.snapshot.Logins, func(l Login) bool { return l.Manager && l.Seat && l.User == top.User })
	if !seated || !strings.HasPrefix(top.Unit, "user@") {
		return ""
	}
	return top.User
}
