// SPDX-License-Identifier: Apache-2.0

package sessions

import "slices"

// maxServed bounds how many processes of one server are taken for those of a session.
const maxServed = 64

// served lists the processes that a session ends with, besides those that carry it: servers end a session
// when the shell or the command that they have started for it has ended.
func (f *finder) served(l *login) []int {
	list := slices.Clone(l.leads)
	if r := l.record; l.Local && r != nil && r.Manager && (r.Seat || r.Terminal != "") {
		list = append(append(list, r.Leader), f.startedBy(r.Leader)...)
	}
	if !l.trusted { // users can make any number of what they call a session
		return list
	}
	for _, pid := range l.members {
		if !f.holds(pid, l.sockets) || f.takesLogins(pid, l.ports) {
			continue
		}
		for _, child := range f.startedBy(pid) {
			list = append(list, child)
			if f.holds(child, l.sockets) { // a part of the server
				list = append(list, f.startedBy(child)...)
			}
		}
	}
	return list
}

func (f *finder) startedBy(pid int) []int {
	list := f.children[pid]
	return list[:min(len(list), maxServed)]
}

// takesLogins reports whether a process takes connections itself, so that what it starts may be of any.
func (f *finder) takesLogins(pid int, ports map[Port]bool) bool {
	for port := range ports {
		if f.servesAt(pid, port) {
			return true
		}
	}
	return false
}
