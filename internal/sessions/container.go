// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// A contained is what is known of another host that may be a container of this machine.
type contained struct {
	Container
	on  bool
	err error
}

// ownFirst has the sessions that are the caller's followed before others: for them alone containers are looked
// into, and what is in one then counts for others, too.
func (f *finder) ownFirst() {
	slices.SortStableFunc(f.logins, func(a, b *login) int { return int(b.Whose) - int(a.Whose) })
}

// contained reports whether a network namespace is that of a container.
func (f *finder) contained(space Space) bool {
	_, above := f.snapshot.Elsewhere[space]
	return space != 0 && !above
}

// container looks whether a host is a container of this machine, once, and takes over what is in it.
func (f *finder) container(host netip.Addr) contained {
	return once(f.containers, host, func() contained {
		c, on, err := f.source.Container(f.ctx, host)
		if on && err == nil && len(c.Sockets) > 0 {
			f.learn(c.Sockets)
			f.noteBegun(c.Sockets)
			f.addPaths(c.Sockets)
			f.addresses[c.Space] = set(c.Addresses)
			f.forget()
		}
		return contained{c, on, err}
	})
}

// inContainer finds the socket at the other end of a connection that a container has begun, by its own address and
// port alone: the packet filter may have sent the connection on to another place.
func (f *finder) inContainer(k Socket) (id SocketID, known bool) {
	began := f.began[ends{space: f.containers[k.Remote.Addr()].Space, protocol: k.Protocol, local: k.Remote}]
	if len(began) != 1 {
		return 0, false
	}
	return began[0], true
}

// noteBegun keeps the connections that a container has begun.
func (f *finder) noteBegun(list []Socket) {
	for _, k := range list {
		if k = f.sockets[k.ID]; k.Protocol == "tcp" && k.Established && !f.accepted(k) {
			at := ends{space: k.Space, protocol: k.Protocol, local: k.Local}
			f.began[at] = append(f.began[at], k.ID)
		}
	}
}

// addPaths adds other paths to what processes were seen to have open before these were known.
func (f *finder) addPaths(list []Socket) {
	for _, k := range list {
		for _, pid := range f.opened[k.PathOf] {
			files := f.files[pid]
			if !slices.Contains(files.Sockets, k.ID) {
				files.Sockets = append(slices.Clip(files.Sockets), k.ID)
				f.files[pid], f.opened[k.ID] = files, append(f.opened[k.ID], pid)
			}
		}
	}
}

// forget drops what follows from the sockets that were known.
func (f *finder) forget() {
	clear(f.carriers)
	clear(f.came)
	clear(f.all)
	clear(f.shared)
	clear(f.sharedAll)
	clear(f.around)
	clear(f.ways)
	f.readings = nil
}

// mayBeCallers reports whether what is not known of the session counts as hidden.
func (w *walk) mayBeCallers() bool {
	return w.to.Whose == Own || w.to.Whose == PossiblyOwn && w.to.trusted && w.to.likely
}

// enter looks whether the other end of a connection is in a container of this machine: a proxy there is the way of
// the session, and not where it comes from. A connection that the proxy of a session began, as to what it serves,
// is looked at only where it is surely one of the session.
func (w *walk) enter(k Socket, how string, doubtful bool) {
	host := k.Remote.Addr()
	c, met := w.containers[host]
	lookFor := w.mayBeCallers() && k.Protocol == "tcp" && (!doubtful || w.accepted(k))
	if !met && lookFor && !w.inside(k) {
		c = w.container(host)
	}
	switch {
	case !c.on:
	case w.inside(k):
		w.address(between(k), how)
	case lookFor:
		w.lost(host, c)
	}
}

// lost notes that the way of the session ends in a container. Any process there may be a part of it.
func (w *walk) lost(host netip.Addr, c contained) {
	why := fmt.Sprintf("where the connection of %s, which is a container of this machine, goes on is not seen", host)
	if c.err != nil {
		why += fmt.Sprintf(" (%v)", c.err)
	}
	w.to.gaps = append(w.to.gaps, why)
	for _, pid := range c.Processes {
		w.claimProcess(pid, w.to.Session, "through the container at "+host.String())
	}
}

// house claims what ends a process of a container with it: the processes above it there.
func (w *walk) house(pid int, via SocketID, how string) {
	if !w.contained(w.sockets[via].Space) {
		return
	}
	for _, above := range w.ancestry(w.processes[pid].Parent) {
		if w.describe(above).Elsewhere {
			w.claimProcess(above, w.to.Session, how)
		}
	}
}

// beginsIn reports whether a session begins with a process of a container: it has opened the one connection that
// it has, and nothing else that the session could come from.
func (w *walk) beginsIn(pid int, via SocketID) bool {
	k, open := w.sockets[via], map[SocketID]bool{}
	for _, id := range w.open(pid).Sockets {
		open[cmp.Or(w.sockets[id].PathOf, id)] = true
	}
	return w.contained(k.Space) && !w.accepted(k) && w.unread[pid] == nil && len(open) == 1
}
