// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"strings"

	"sentinel/internal/remotedesktop"
	"sentinel/internal/sanitize"
)

// judge decides whose the sessions are. Where the way up from this run leads to none, each that can lead to it
// may be the caller's own, except that somebody who sits at the screen of the machine and has no terminal, as
// the program of a desktop, can only be another of their own.
func (f *finder) judge() {
	if f.ownServed() {
		return
	}
	f.shown()
	if f.atMachine() {
		return
	}
	user, callers := f.desktopUser(), f.callers()
	for _, l := range f.logins {
		if l.Whose == Others && (user == "" || l.User == "" || l.User == user) && callers.mayLead(l) {
			l.Whose, l.likely = PossiblyOwn, callers.leads(l)
		}
	}
	if len(f.snapshot.Hint) > 0 && !slices.ContainsFunc(f.logins, func(l *login) bool { return l.Whose == Own }) {
		f.logins = append(f.logins, &login{Session: &Session{Whose: PossiblyOwn}})
	}
}

// ownKnown reports whether the way up from this run leads to a session. A terminal on the way that
// something else serves, such as tmux, breaks it: whoever is connected there may be anybody.
func (f *finder) ownKnown() bool { return f.ownServed() || f.atMachine() }

// ownServed leaves ways over Unix sockets out: what is connected there may be there for something else.
func (f *finder) ownServed() bool {
	return slices.ContainsFunc(f.logins, func(l *login) bool { return l.Whose == Own && len(l.sockets) > 0 && !f.overUnix(l.sockets) })
}

// atMachine reports whether this run comes from the screen of the machine, or from a terminal of its own. A
// record that names no other host does not show that: run0(1) and machinectl(1) make one in the session of
// somebody who is elsewhere, and so do servers of desktops.
func (f *finder) atMachine() bool {
	for _, pid := range f.line {
		if p := f.processes[pid]; p.Terminal != "" && !p.Pseudo {
			return true
		}
	}
	return f.seated()
}

// seated reports whether a login at the screen and keyboard of the machine is on the way up.
func (f *finder) seated() bool {
	return slices.ContainsFunc(f.snapshot.Logins, func(l Login) bool {
		return l.Manager && l.Seat && slices.Contains(f.line, l.Leader)
	})
}

// shown adds who looks at the desktop that this run comes from, where a server shows it to other hosts. Nothing
// tells whether they have given its password. For who sits at the machine they are others, whose sessions may end:
// nobody could block who tries passwords there otherwise. A server talks with the programs of the desktop over a
// Unix socket, so its name, of a program of the system, is what tells it.
func (f *finder) shown() {
	desktops := f.desktops()
	if len(desktops) == 0 {
		return
	}
	user, whose := desktops[0].User, PossiblyOwn
	if f.seated() {
		whose = Others
	}
	servers := f.desktopServers(user)
	if len(servers) == 0 && slices.ContainsFunc(desktops, f.handedOn) {
		f.model.Gaps = append(f.model.Gaps, Gap{Why: "what shows the desktop of " + sanitize.Text(user, 32) + ", which this run comes from, is not seen", Whose: PossiblyOwn, Trusted: true})
	}
	for _, pid := range servers {
		came := slices.DeleteFunc(slices.Clone(f.cameIn(pid).sockets), func(id SocketID) bool { return !f.connected(id) })
		if len(came) > 0 {
			f.logins = append(f.logins, &login{Session: &Session{User: user, Whose: whose}, chain: chain{members: []int{pid}, sockets: came, ports: f.portsOf(came)}})
		}
	}
}

// handedOn reports whether a login is on the way up that may have been begun from another host, though its
// record names none.
func (f *finder) handedOn(l Login) bool {
	return l.Manager && !l.Seat && !l.Remote && slices.Contains(f.line, l.Leader)
}

// desktops lists the records of desktops that this run may come from: that of a login on the way up, or of
// the user whose service manager has started it.
func (f *finder) desktops() (list []Login) {
	user := f.managed()
	for _, l := range f.snapshot.Logins {
		if l.Manager && !l.Remote && (l.Seat || l.Terminal == "") && (slices.Contains(f.line, l.Leader) || l.User == user) {
			list = append(list, l)
		}
	}
	return list
}

// desktopServers lists the programs that may show the desktop of a user to other hosts.
func (f *finder) desktopServers(user string) (list []int) {
	for _, p := range f.snapshot.Processes {
		if !remotedesktop.Is(p.Name) {
			continue
		}
		if d := f.describe(p.PID); remotedesktop.Is(d.Program) && (d.System || d.User == user) {
			list = append(list, p.PID)
		}
	}
	return list
}

// desktopUser names the user who sits at the machine's own screen if this run comes from their
// service manager without a terminal; empty otherwise.
func (f *finder) desktopUser() string {
	for _, pid := range f.line {
		if f.processes[pid].Terminal != "" {
			return ""
		}
	}
	user := f.managed()
	if !slices.ContainsFunc(f.snapshot.Logins, func(l Login) bool { return l.Manager && l.Seat && l.User == user }) {
		return ""
	}
	return user
}

// managed names the user whose service manager has started this run; empty if none has.
func (f *finder) managed() string {
	if len(f.line) == 0 {
		return ""
	}
	top := f.describe(f.line[len(f.line)-1])
	if !strings.HasPrefix(top.Unit, "user@") {
		return ""
	}
	return top.User
}
