// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"fmt"
	"slices"
)

// A way in over Unix sockets is looked for where the caller's own session has none of the network: a proxy of this
// machine (nginx, haproxy, cockpit-tls) has the connection, and passes on to the server by a path.

// maxLeading bounds of how many processes it is looked for who is connected with them: for each the files of all
// processes may have to be read.
const maxLeading = 32

// ErrNotTold says that the system does not tell who is connected with whom over Unix sockets.
var ErrNotTold = errors.New("the system does not tell who is connected over Unix sockets")

// cameLocally lists the Unix sockets of a process that somebody has connected to, sorted.
func (f *finder) cameLocally(pid int) []SocketID {
	return once(f.local, pid, func() (list []SocketID) {
		own := f.open(pid).Sockets
		unknown := slices.DeleteFunc(slices.Clone(own), func(id SocketID) bool { _, known := f.sockets[id]; return known })
		slices.Sort(unknown)
		met, err := f.source.Unix(f.ctx, slices.Compact(unknown))
		if err != nil {
			f.notLooked(err)
		}
		for _, k := range met {
			f.sockets[k.ID] = k
		}
		for _, id := range own {
			if k := f.sockets[id]; k.Peer != 0 && k.Accepted {
				list = append(list, id)
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	})
}

// notLooked notes that it is not known who is connected, once for each kind of reason. Where the system tells nothing
// of the kind, that is no reason to refuse everything.
func (f *finder) notLooked(err error) {
	skipped, _ := errors.AsType[*SkippedError](err)
	kind := unlooked{skipped: skipped != nil, notTold: errors.Is(err, ErrNotTold)}
	if f.unlooked[kind] {
		return
	}
	f.unlooked[kind] = true
	why := fmt.Sprintf("which programs of this machine this call's session comes through over Unix sockets is not all known (%v)", err)
	if kind.notTold {
		f.model.Unseen = append(f.model.Unseen, why)
		return
	}
	f.model.Gaps = append(f.model.Gaps, Gap{Why: why, Whose: PossiblyOwn, Trusted: true, Skipped: skipped})
}

// unlooked is a kind of reason. A bound that was reached has more refused than another failure.
type unlooked struct{ skipped, notTold bool }

// leading are those of them behind which there are connections of the network.
func (f *finder) leading(pid int) []SocketID {
	return once(f.lead, pid, func() (list []SocketID) {
		f.lead[pid] = nil // processes may be connected in a circle
		came := f.cameLocally(pid)
		if len(came) == 0 {
			return nil
		}
		ends := make([]Socket, len(came))
		for i, id := range came {
			ends[i] = Socket{ID: f.sockets[id].Peer, Protocol: "unix", Peer: id}
			f.sockets[ends[i].ID] = ends[i]
		}
		if f.led++; f.led > maxLeading {
			f.notLooked(&SkippedError{Err: fmt.Errorf("more than %d processes that talk over Unix sockets are not followed", maxLeading)})
			return nil
		}
		holders, err := f.source.Holders(f.ctx, ends)
		for i, id := range came {
			if err != nil && len(holders[ends[i].ID]) == 0 {
				f.notLooked(err)
			}
			if slices.ContainsFunc(holders[ends[i].ID], func(holder int) bool { return f.passesOn(holder, pid) }) {
				list = append(list, id)
			}
		}
		return list
	})
}

// passesOn reports whether a process that has connected to another passes on what comes from the network: one of the
// system, or of an account that this run has come through, which then must have been connected to, since their
// programs (a browser) talk with other hosts as well. What a server has started is no way in to it.
func (f *finder) passesOn(pid, to int) bool {
	d := f.describe(pid)
	if pid == 1 || d.Ended || slices.Contains(f.ancestry(pid), to) {
		return false
	}
	switch {
	case f.ofSystem(pid):
		return f.waysOf(proxy{pid, tcpAndUDP}).any() || len(f.leading(pid)) > 0
	case f.callerUIDs[d.UID] && !d.Lent:
		return len(f.cameIn(pid).sockets) > 0 || len(f.leading(pid)) > 0
	}
	return false
}

// cameOver finds the nearest of the processes that this run comes from which has such sockets; nil for none. Where
// this run comes from the machine itself, none is the way of a session.
func (f *finder) cameOver(line []int) *holding {
	if f.atMachine() {
		return nil
	}
	for _, pid := range line {
		if over := f.leading(pid); len(over) > 0 {
			all := slices.Concat(f.held(pid), over) // it may as well have called whom it serves
			slices.Sort(all)
			return f.newHolding(pid, all)
		}
	}
	return nil
}

// over lists the Unix sockets by which a proxy of what may be the caller's own session is reached. Others are not
// followed over them: of these any user has as many as they like.
func (w *walk) over(pid int) []SocketID {
	if !w.mayBeCallers() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.leading(pid)), func(id SocketID) bool { return w.seen[id] })
}

// overUnix reports whether a way leads over Unix sockets.
func (f *finder) overUnix(list []SocketID) bool {
	return slices.ContainsFunc(list, func(id SocketID) bool { return f.sockets[id].Peer != 0 })
}
