// SPDX-License-Identifier: Apache-2.0

package sessions

const (
	// leastTraffic is what a connection has moved each way, in bytes, before it is told from others by
	// that: two that have just begun may agree. A login of SSH takes more than twice as much.
	leastTraffic = 1024
	// maxPaired bounds how many connections of a proxy are compared, and maxReadings how often those of
	// the caller's own session are: bytes may be on their way through the proxy.
	maxPaired   = 4096
	maxReadings = 3
)

// pair finds among the connections of a proxy the one that goes on from another: a proxy that passes
// on bytes as they are sends to one side as many as the other has sent. It finds none where the numbers
// do not fit these two alone, as with TLS or a header (PROXY) of the proxy's own, or where others have
// logged in with the same program and done the same.
func (w *walk) pair(pid int, via SocketID, among []SocketID) (id SocketID, known bool) {
	if len(among) < 2 || len(among) > maxPaired {
		return 0, false
	}
	all := w.held(pid, anySocket)
	for n := range maxReadings {
		if n > 0 && w.to.Whose == Others {
			break
		}
		moved := w.moved(n > 0)
		if id, known = mirror(moved, via, among); !known {
			continue
		}
		if back, only := mirror(moved, id, all); only && back == via {
			return id, true
		}
	}
	return 0, false
}

// moved returns what went through the connections of this machine, read once, or again.
func (f *finder) moved(again bool) map[SocketID]Traffic {
	if f.traffic == nil || again {
		f.traffic, _ = f.source.Traffic(f.ctx) //nolint:errcheck // what is unknown fits nothing
	}
	return f.traffic
}

// mirror finds the one connection of a list that has sent what another has received, and received what
// that has sent.
func mirror(moved map[SocketID]Traffic, via SocketID, among []SocketID) (id SocketID, known bool) {
	this := moved[via]
	if min(this.Sent, this.Received) < leastTraffic {
		return 0, false
	}
	for _, other := range among {
		if t := moved[other]; t.Sent != this.Received || t.Received != this.Sent {
			continue
		}
		if known {
			return 0, false
		}
		id, known = other, true
	}
	return id, known
}
