// SPDX-License-Identifier: Apache-2.0

package sessions

import "slices"

const (
	// leastTraffic is what a connection has moved each way, in bytes, before it is told from others by
	// that: two that have just begun may agree. A login of SSH takes more than twice as much.
	leastTraffic = 1024
	// maxReadings bounds how often the connections of a proxy are compared for the caller's own session:
	// bytes may be on their way through the proxy. How many there are is no bound: whoever opened one more
	// than that could not be blocked.
	maxReadings = 3
)

// pair finds among the connections of a proxy the one that goes on from another: a proxy that passes
// on bytes as they are sends to one side as many as the other has sent. It finds none where the numbers
// do not fit these two alone, as with TLS or a header (PROXY) of the proxy's own, or where others have
// logged in with the same program and done the same.
func (w *walk) pair(pid int, via SocketID, among []SocketID) (id SocketID, known bool) {
	if len(among) < 2 {
		return 0, false
	}
	for n := range maxReadings {
		if n > 0 && w.to.Whose == Others {
			break
		}
		w.readTraffic(n > 0)
		found := slices.DeleteFunc(slices.Clone(w.mirrors(pid, via)), func(id SocketID) bool { return !slices.Contains(among, id) })
		if len(found) != 1 {
			continue
		}
		if back := w.mirrors(pid, found[0]); len(back) == 1 && back[0] == via {
			return found[0], true
		}
	}
	return 0, false
}

// readTraffic reads what went through the connections of this machine, once, or again.
func (f *finder) readTraffic(again bool) {
	if f.traffic == nil || again {
		f.traffic, _ = f.source.Traffic(f.ctx) //nolint:errcheck // what is unknown fits nothing
		f.byTraffic = map[int]map[Traffic][]SocketID{}
	}
}

// mirrors lists the connections of a process that have sent what another has received, and received what
// that has sent. A proxy may carry many sessions, and its connections are gone through once for all of them.
func (f *finder) mirrors(pid int, via SocketID) []SocketID {
	this := f.traffic[via]
	if min(this.Sent, this.Received) < leastTraffic {
		return nil
	}
	known, ok := f.byTraffic[pid]
	if !ok {
		known = map[Traffic][]SocketID{}
		for _, id := range f.held(pid, anySocket) {
			known[f.traffic[id]] = append(known[f.traffic[id]], id)
		}
		f.byTraffic[pid] = known
	}
	return known[Traffic{Sent: this.Received, Received: this.Sent}]
}
