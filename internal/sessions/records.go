// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"slices"
)

// unserved keeps a login that root has recorded and that no connection of the network seems to serve: its
// address still counts. One over another kind of socket has none (AF_UNIX, AF_VSOCK; sshd of systemd's
// sshd-unix-local.socket), and is a session all the same.
func (f *finder) unserved(s seed, record *Login) {
	leads := f.recordedLeads(s, record)
	if len(leads) == 0 {
		f.remember(s)
		return
	}
	l := f.recorded(record)
	l.leads = append(l.leads, leads...)
	l.begin(s)
	l.Terminal = cmp.Or(l.Terminal, s.terminal)
}

// recorded returns the login of a record that no connection is known of.
func (f *finder) recorded(record *Login) *login {
	for _, l := range f.logins {
		if l.record == record && len(l.sockets) == 0 {
			return l
		}
	}
	l := &login{Session: &Session{User: record.User}, chain: chain{trusted: true}, record: record}
	if !record.From.IsValid() {
		l.gaps = append(l.gaps, "with whom "+f.name(record.Leader)+" is connected is not seen")
	}
	if slices.Contains(f.line, record.Leader) {
		l.Whose = Own
	}
	l.describe()
	f.logins = append(f.logins, l)
	return l
}

// recordedLeads lists what a recorded login ends with, from a seed of it: what leads up from its terminal to the
// process that logged in, but not from terminals within the session; or what that process has started, and a
// part of it, which shares a socket with it, has.
func (f *finder) recordedLeads(s seed, record *Login) []int {
	if record == nil {
		return nil
	}
	if s.pid == record.Leader {
		return f.startedFor(s.pid)
	}
	line := f.ancestry(s.pid)
	at := slices.Index(line, record.Leader)
	within := func(pid int) bool { return f.processes[pid].Terminal != s.terminal && f.within(pid) }
	switch {
	case at < 0 || f.describe(s.pid).Elsewhere:
		return nil
	case !slices.ContainsFunc(line[:at], within):
		return slices.Clone(line[:at+1])
	case f.monitors(line[0], line[1]):
		return line[:1:1]
	}
	return nil
}

// startedFor lists a process, what it has started, and what parts of it have.
func (f *finder) startedFor(pid int) []int {
	list := []int{pid}
	for _, child := range f.startedBy(pid) {
		list = append(list, child)
		shared := func(id SocketID) bool { return slices.Contains(f.open(child).Sockets, id) }
		if slices.ContainsFunc(f.open(pid).Sockets, shared) {
			list = append(list, f.startedBy(child)...)
		}
	}
	return list
}

// console takes a login at a terminal of the machine itself that the session manager does not know.
func (f *finder) console(s seed, record *Login) {
	if record != nil {
		return
	}
	l := &login{
		Session: &Session{User: f.user(s, nil), Terminal: f.processes[s.pid].Terminal, Local: true},
		chain:   chain{leads: append([]int{s.pid}, f.startedBy(s.pid)...), trusted: true}, begins: []int{s.pid},
	}
	if slices.ContainsFunc(l.leads, func(pid int) bool { return slices.Contains(f.line, pid) }) {
		l.Whose = Own
	}
	f.logins = append(f.logins, l)
}

// A register finds what the system has recorded of logins. Users have many of their jobs recorded.
type register struct {
	logins   []Login
	terminal map[string]int // of the session manager, by what tells them, the last of each
	leader   map[int]int
	id       map[string]int
	hints    map[string]int // other records, by terminal
}

func newRegister(logins []Login) register {
	r := register{logins, map[string]int{}, map[int]int{}, map[string]int{}, map[string]int{}}
	for i, l := range logins {
		if !l.Manager {
			r.hints[l.Terminal] = i
			continue
		}
		r.terminal[l.Terminal], r.leader[l.Leader], r.id[l.ID] = i, i, i
	}
	return r
}

// at returns the login of an index; nil where no key was found.
func (r register) at(i int) *Login {
	if i < 0 {
		return nil
	}
	return &r.logins[i]
}

// lookUp returns the index of a key, or -1.
func lookUp[K comparable](m map[K]int, key K) int {
	var none K
	if i, ok := m[key]; ok && key != none {
		return i
	}
	return -1
}

// records finds what the system has recorded of a session. A terminal of that number may be another's,
// whose login is not among the ancestors.
func (f *finder) records(s seed, c chain) (record, hint *Login) {
	r := f.register
	last := max(lookUp(r.leader, s.pid), lookUp(r.id, f.describe(s.pid).Login))
	if at := lookUp(r.terminal, s.terminal); at >= 0 && slices.Contains(f.ancestry(s.pid), r.logins[at].Leader) {
		last = max(last, at)
	}
	for _, pid := range c.members {
		last = max(last, lookUp(r.leader, pid))
	}
	return r.at(last), r.at(lookUp(r.hints, s.terminal))
}

// user names whose session it is: the record's, or the account that the first process runs as which
// is not root's.
func (f *finder) user(s seed, record *Login) string {
	if record != nil && record.User != "" {
		return record.User
	}
	name := f.describe(s.pid).User
	seen := map[int]bool{} // who reads the table while it changes may be told a circle
	for queue := []int{s.pid}; len(queue) > 0 && len(queue) < maxSockets; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		if d := f.describe(queue[0]); !d.System && !d.Ended {
			return d.User
		}
		if s.terminal == "" || f.processes[queue[0]].Terminal == s.terminal {
			queue = append(slices.Clone(queue), f.children[queue[0]]...)
		}
	}
	return name
}
