// SPDX-License-Identifier: Apache-2.0

package sessions

const (
	// leastTraffic is what a connection has moved each way, in bytes, before it is told from others by
	// that: two that have just begun may agree. A login of SSH takes more than twice as much.
	leastTraffic = 1024
	// maxReadings bounds how often the connections of a proxy are compared for a session that is or may be the
	// caller's own: bytes may be on their way through the proxy. All sessions are compared in the same readings, since
	// each goes over all connections of the machine. How many there are is no bound: whoever opened one more
	// than that could not be blocked.
	maxReadings = 3
)

// A reading is what the connections of this machine had moved at one moment.
type reading struct {
	traffic map[SocketID]Traffic
	by      map[int]map[Traffic][]SocketID // connections of a process by what they have moved
}

// pair finds among the connections of a proxy the one that goes on from another: a proxy that passes
// on bytes as they are sends to one side as many as the other has sent. It finds none where the numbers
// do not fit these two alone, as with TLS or a header (PROXY) of the proxy's own, or where others have
// logged in with the same program and done the same.
func (w *walk) pair(pid int, via SocketID, among ways) (id SocketID, known bool) {
	if len(among.first)+len(among.then) < 2 {
		return 0, false
	}
	for n := range maxReadings {
		if n > 0 && w.to.Whose == Others {
			break
		}
		r := w.reading(n)
		id, known := w.only(w.mirrors(r, pid, via), among)
		if !known {
			continue
		}
		if back := w.mirrors(r, pid, id); len(back) == 1 && back[0] == via {
			return id, true
		}
	}
	return 0, false
}

// only returns the one of a list that is among others and not seen; none where there are more.
func (w *walk) only(list []SocketID, among ways) (one SocketID, known bool) {
	for _, id := range list {
		if w.seen[id] || !among.has(id) {
			continue
		}
		if known {
			return 0, false
		}
		one, known = id, true
	}
	return one, known
}

// reading returns one of what went through the connections of this machine, the first or a later one.
func (f *finder) reading(n int) reading {
	for len(f.readings) <= n {
		traffic, _ := f.source.Traffic(f.ctx) //nolint:errcheck // what is unknown fits nothing
		f.readings = append(f.readings, reading{traffic, map[int]map[Traffic][]SocketID{}})
	}
	return f.readings[n]
}

// mirrors lists the connections of a process that have sent what another has received, and received what
// that has sent. A proxy may carry many sessions, and its connections are gone through once for all of them.
func (f *finder) mirrors(r reading, pid int, via SocketID) []SocketID {
	this := r.traffic[via]
	if min(this.Sent, this.Received) < leastTraffic {
		return nil
	}
	known := once(r.by, pid, func() map[Traffic][]SocketID {
		by := map[Traffic][]SocketID{}
		for _, id := range f.held(pid) {
			by[r.traffic[id]] = append(by[r.traffic[id]], id)
		}
		return by
	})
	return known[Traffic{Sent: this.Received, Received: this.Sent}]
}
