// SPDX-License-Identifier: Apache-2.0

package sessions

import "slices"

// Which connections of a process may carry on a session.
type protocols int

const (
	tcpOnly protocols = iota
	tcpAndProvenUDP
	tcpAndUDP
)

// A proxy is a process, and which of its connections may carry on a session.
type proxy struct {
	pid int
	use protocols
}

// Ways are connections that may carry on a session, each list sorted: those with other hosts, then those that came
// in from this machine, or all that stay on it where there are none with others.
// Over are Unix sockets that came in, of which a walk alone knows.
type ways struct{ first, then, local, over []SocketID }

func (w ways) any() bool { return len(w.first)+len(w.then)+len(w.over) > 0 }

func (w ways) has(id SocketID) bool {
	_, first := slices.BinarySearch(w.first, id)
	_, then := slices.BinarySearch(w.then, id)
	return first || then
}

// waysOf sorts the connections of a proxy, once for all sessions: a proxy has as many as others like.
func (f *finder) waysOf(p proxy) ways {
	return once(f.ways, p, func() (list ways) {
		for _, id := range f.held(p.pid) {
			switch k := f.sockets[id]; {
			case f.handedIn(k, p.pid):
			case k.Protocol != "tcp" && (p.use == tcpOnly || p.use == tcpAndProvenUDP && f.unanswered(k)):
			case !f.inside(k):
				list.first = append(list.first, id)
			default:
				list.local = append(list.local, id)
			}
		}
		list.then = f.acceptedOf(list.local)
		return list
	})
}

// handedIn reports whether a process of the system holds a socket that neither it nor root made: whoever may send it
// messages, as anybody may to a message bus, leaves descriptors with it (SCM_RIGHTS of unix(7)).
func (f *finder) handedIn(k Socket, pid int) bool {
	return k.UID > 0 && f.ofSystem(pid) && k.UID != f.describe(pid).UID
}

// unanswered reports whether nothing shows that the other end of a socket has answered: to connect a UDP socket
// takes no packet (connect(2)).
func (f *finder) unanswered(k Socket) bool {
	return k.Protocol == "udp" && k.Remote.Port() != 0 && !f.inside(k)
}

// startedIn lists the connections of the session that a process was started in.
func (f *finder) startedIn(pid int) []SocketID {
	return once(f.around, pid, func() []SocketID {
		line := f.ancestry(pid)
		if chosen, _ := f.choose(line[min(1, len(line)):], pid); chosen != nil {
			return chosen.sockets
		}
		return nil
	})
}
