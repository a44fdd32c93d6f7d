// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/sanitize"
)

// name names a process in a sentence.
func (f *finder) name(pid int) string {
	name := "a process"
	if own := f.processes[pid].Name; own != "" {
		name = sanitize.Quoted(own, 32)
	}
	return fmt.Sprintf("%s (PID %d)", name, pid)
}

// follow goes from the connections of a session to what carries them.
func (f *finder) follow(l *login) {
	for _, pid := range slices.Concat(l.members, f.served(l)) {
		f.claimProcess(pid, l.Session, "")
	}
	w := walk{finder: f, to: l, seen: map[SocketID]bool{}, passed: map[int]bool{}, left: map[int]ways{}}
	for _, pid := range l.members {
		w.passed[pid] = true
	}
	w.visit(l.sockets, "", false)
	w.fromRecords()
	if l.Whose != Own && len(w.relayed) > maxRelayed {
		l.gaps = append(l.gaps, fmt.Sprintf("which of %d hosts that talk with a proxy is the other end is not known", len(w.relayed)))
		w.relayed = nil
	}
	w.among = w.hosts()
	for _, r := range w.relayed {
		w.outside(r.id, r.how)
	}
	l.Among, w.among = w.among, 0
	w.udpPeers()
}

// hosts counts those that talk with proxies of the session; 0 where the one is known.
func (w *walk) hosts() int {
	all := map[netip.Addr]bool{}
	for _, r := range w.relayed {
		all[w.sockets[r.id].Remote.Addr()] = true
	}
	if len(all) < 2 {
		return 0
	}
	return len(all)
}

// A walk follows one session.
type walk struct {
	*finder
	to      *login
	seen    map[SocketID]bool
	passed  map[int]bool
	left    map[int]ways    // of a proxy, but those at their beginnings that are seen
	relayed []relayedSocket // of proxies, to other hosts
	among   int             // hosts of which one is the other end, while they are claimed
	udp     []Socket        // that are not connected
}

type relayedSocket struct {
	id  SocketID
	how string
}

// visit takes the connections of one level, and follows those that stay on this machine to the
// processes at their other ends.
func (w *walk) visit(list []SocketID, how string, relayed bool) {
	var inside []Socket
	for _, id := range list {
		if len(w.seen) >= maxSockets && w.to.Whose != Own {
			break
		}
		if w.seen[id] {
			continue
		}
		k := w.sockets[id]
		w.seen[id] = true
		w.enter(k, how, relayed && len(list) > 1)
		if w.unproven(k) {
			w.to.gaps = append(w.to.gaps, fmt.Sprintf("whether %s answers at the UDP socket that is connected with it is not known", k.Remote))
			continue
		}
		switch remote := k.Remote; {
		case w.inside(k):
			inside = append(inside, k)
			w.port(k, how)
		case relayed && remote.Port() != 0:
			w.relayed = append(w.relayed, relayedSocket{id, how})
		default:
			w.outside(id, how)
		}
	}
	w.through(inside)
}

// unproven reports whether nothing shows that another host has anything to do with a session of somebody else.
func (w *walk) unproven(k Socket) bool { return w.to.Whose == Others && w.unanswered(k) }

// outside claims a connection with another host, or a UDP socket whose other end is to be found.
func (w *walk) outside(id SocketID, how string) {
	k := w.sockets[id]
	w.port(k, how)
	if k.Remote.Port() == 0 {
		w.udp = append(w.udp, k)
		return
	}
	w.address(between(k), how)
	w.wire(k, how)
}

// wire claims the address that the packets of a connection have on their way, which a block drops.
func (w *walk) wire(k Socket, how string) {
	if k.Space != 0 && !w.contained(k.Space) {
		return
	}
	a, err := w.source.OnWire(w.ctx, k)
	if err != nil {
		w.to.gaps = append(w.to.gaps, fmt.Sprintf("whether the packets of %s come from another address is not known (%v)", k.Remote.Addr(), err))
	}
	if a = bare(a); a.IsValid() && !w.here(0, a) {
		c := between(k)
		c.Remote = a
		w.address(c, how)
	}
}

// between are the ends of a connection with another host.
func between(k Socket) Connection {
	c := Connection{k.Local.Addr(), k.Remote.Addr()}
	if k.Space != 0 {
		c.Local = netip.Addr{} // it is an address of another network namespace
	}
	return c
}

// port claims the local port of a connection that came in.
func (w *walk) port(k Socket, how string) {
	if k.Space == 0 && w.accepted(k) {
		claim(w.model.Ports, portOf(k), w.to.Session, how)
	}
}

// address claims another host, and the tunnels on the way to it.
func (w *walk) address(c Connection, how string) {
	claim(w.model.Addresses, c.Remote, w.to.Session, how)
	if w.among > 0 {
		doubtful := w.model.Addresses[c.Remote]
		doubtful.Among = max(doubtful.Among, w.among)
		w.model.Addresses[c.Remote] = doubtful
	}
	w.to.From = append(w.to.From, c.Remote)
	if !w.linked[c] {
		w.linked[c] = true
		w.model.Connections = append(w.model.Connections, c)
	}
	tunnels, err := w.source.Tunnels(w.ctx, c)
	if err != nil {
		w.to.gaps = append(w.to.gaps, fmt.Sprintf("which tunnels lead to %s is not known (%v)", c.Remote, err))
	}
	for _, t := range tunnels {
		w.tunnel(t)
	}
}

func (w *walk) tunnel(t Tunnel) {
	how := "through the tunnel " + sanitize.Text(t.Interface, 15)
	for _, a := range t.Addresses {
		claim(w.model.Addresses, bare(a), w.to.Session, how)
	}
	for _, p := range t.Ports {
		claim(w.model.Ports, p, w.to.Session, how)
	}
	for _, pid := range t.Processes {
		w.claimProcess(pid, w.to.Session, how)
	}
	if t.Unknown != "" {
		w.to.gaps = append(w.to.gaps, t.Unknown)
	}
}

// through finds the processes at the other ends of connections that stay on this machine.
func (w *walk) through(inside []Socket) {
	var others []Socket
	for _, k := range inside {
		id, known := w.otherEnd(k)
		if !known {
			w.to.gaps = append(w.to.gaps, fmt.Sprintf("the other end of the connection from %s is not seen", k.Remote))
			continue
		}
		w.seen[id] = true
		others = append(others, w.sockets[id])
	}
	if len(others) == 0 {
		return
	}
	holders, err := w.source.Holders(w.ctx, others)
	for _, k := range others {
		if len(holders[k.ID]) == 0 {
			why := fmt.Sprintf("who holds the other end of %s is not known", origin(k))
			if err != nil {
				why += fmt.Sprintf(" (%v)", err)
				w.to.skip(err)
			}
			w.to.gaps = append(w.to.gaps, why)
		}
		for _, pid := range holders[k.ID] {
			if k.Peer == 0 || w.passesOn(pid, 0) {
				w.relay(pid, k.ID)
			}
		}
	}
}

// origin names a connection by the end that it came from.
func origin(k Socket) string {
	if k.Peer != 0 {
		return "a Unix socket"
	}
	return "the connection from " + k.Local.String()
}

// relay goes on from a process that passes a session on: a proxy, or the client of a reverse tunnel,
// which holds one of its connections. Where that leads on to one connection alone, another of the
// session may lead the process to another.
func (w *walk) relay(pid int, via SocketID) {
	if w.passed[pid] {
		return
	}
	how := "through " + w.name(pid)
	w.claimProcess(pid, w.to.Session, how)
	w.house(pid, via, how)
	if w.below(pid) {
		w.passed[pid] = true
		return
	}
	onward := w.onward(pid)
	if id, known := w.pair(pid, via, onward); known {
		w.visit([]SocketID{id}, how, false)
		return
	}
	w.passed[pid] = true
	if err := w.unread[pid]; err != nil {
		w.to.gaps = append(w.to.gaps, fmt.Sprintf("where the connections of %s go on is not all known (%v)", w.name(pid), err))
		w.to.skip(err)
	}
	for _, child := range w.children[pid] {
		if onward.any() {
			break
		}
		if onward = w.onward(child); onward.any() {
			w.claimProcess(child, w.to.Session, how)
		}
	}
	if !onward.any() && !w.atTerminal(pid) && !w.startedHere(pid) && !w.beginsIn(pid, via) {
		w.to.gaps = append(w.to.gaps, "where the connection of "+w.name(pid)+" goes on is not seen")
	}
	w.visit(onward.first, how, true)
	w.visit(onward.then, how, true)
	w.visit(onward.over, how, true)
}

// skip keeps what was not looked at on the way.
func (l *login) skip(err error) {
	if skipped, ok := errors.AsType[*SkippedError](err); ok {
		l.skipped = skipped
	}
}

// below takes the connection of the session that a process belongs to, where it has none of its own
// to another host or shares it with the system's part of its server.
func (w *walk) below(pid int) bool {
	if w.ofSystem(pid) {
		return false
	}
	shared := w.sharedAbove(pid)
	if len(shared) == 0 {
		return false
	}
	for _, server := range w.ancestry(pid)[1:] {
		if w.holds(server, shared) {
			w.claimProcess(server, w.to.Session, "through "+w.name(server))
		}
	}
	w.visit(shared, "through "+w.name(pid), false)
	return true
}

// onward lists the connections of a process that may carry on a session: those with other hosts, or,
// where it has none, those that stay on this machine, or those of the session that it was started in.
// Some may be seen.
func (w *walk) onward(pid int) ways {
	left, met := w.left[pid]
	if !met {
		left = w.waysOf(proxy{pid, w.usable(pid)})
	}
	left.first, left.local = w.unseen(left.first), w.unseen(left.local)
	w.left[pid] = left
	over := w.over(pid)
	switch {
	case len(left.first) > 0:
		return ways{first: left.first, then: left.then, over: over}
	case len(left.local)+len(over) > 0:
		return ways{first: left.local, over: over}
	}
	return ways{first: w.startedIn(pid)}
}

// unseen drops those at the beginning that are seen, so that nobody goes over them again.
func (w *walk) unseen(list []SocketID) []SocketID {
	for len(list) > 0 && w.seen[list[0]] {
		list = list[1:]
	}
	return list
}

// usable says which connections of a process may carry on the session. A packet that an ordinary user sends to
// anybody proves nothing, so UDP counts only for a process of the system and for the caller's own session, and
// one that is connected for no session of others.
func (w *walk) usable(pid int) protocols {
	switch {
	case w.to.Whose == Own || w.to.Whose != Others && w.ofSystem(pid):
		return tcpAndUDP
	case w.ofSystem(pid):
		return tcpAndProvenUDP
	}
	return tcpOnly
}

// atTerminal reports whether a process belongs to a person at the machine itself.
func (w *walk) atTerminal(pid int) bool {
	return slices.ContainsFunc(w.ancestry(pid), func(pid int) bool {
		p := w.processes[pid]
		return p.Terminal != "" && !p.Pseudo
	})
}

// startedHere reports whether a process is the beginning of a connection and not a part of its way: a
// program of a person who is logged in at this machine alone, or who is not logged in and for whom the
// system does a job. Daemons, also those of a person that have left who started them, may pass on what
// comes through a socket that is not of the network.
func (w *walk) startedHere(pid int) bool {
	about := w.describe(pid)
	if about.System || about.User == "" {
		return false
	}
	here := false
	for _, l := range w.snapshot.Logins {
		if !l.Manager || l.User != about.User {
			continue
		}
		if l.Remote {
			return false
		}
		here = true
	}
	return here || w.isJob(pid)
}

// isJob reports whether a process of the system other than the first started the process, without a
// terminal.
func (w *walk) isJob(pid int) bool {
	line := w.ancestry(pid)
	return !slices.ContainsFunc(line, func(pid int) bool { return w.processes[pid].Terminal != "" }) &&
		slices.ContainsFunc(line, func(pid int) bool { return pid != 1 && w.describe(pid).System })
}

// fromRecords adds where the system has recorded that the login came from. A record that a user's
// program can make counts for the caller's own session alone.
func (w *walk) fromRecords() {
	for _, r := range []*Login{w.to.record, w.to.hint} {
		if r != nil && r.From.IsValid() && !w.here(0, bare(r.From)) && (r.Manager || w.to.Whose == Own) {
			w.recorded(bare(r.From))
		}
	}
	if w.to.Whose != Others && (len(w.to.sockets) == 0 || len(w.to.From) == 0) && !w.to.Local {
		for _, a := range w.snapshot.Hint {
			if !w.here(0, bare(a)) {
				w.recorded(bare(a))
			}
		}
	}
}

// recorded claims the address of a record. A record of a session whose connection is seen says
// nothing new.
func (w *walk) recorded(a netip.Addr) {
	if slices.ContainsFunc(w.to.sockets, w.connected) {
		return
	}
	w.address(Connection{Remote: a}, "")
}

// believes reports whether the other end of a flow is one of the session. Any user can send packets of IPv6
// from an address that is not this machine's (IPV6_FREEBIND of ipv6(7)) to a server of theirs, whose answer
// then leaves the machine: connection tracking has that as a flow which the other host began and which was
// answered. With IPv4 the kernel routes no such packet for who is not root.
func (w *walk) believes(p Peer) bool {
	anyway := w.to.trusted || w.to.Whose == Own
	return anyway || p.Came && (w.to.Whose != Others || bare(p.Address).Is4())
}

// udpPeers finds the other ends of UDP sockets that are not connected.
func (w *walk) udpPeers() {
	if len(w.udp) == 0 {
		return
	}
	var ports []uint16
	for _, k := range w.udp {
		if k.Space == 0 {
			ports = append(ports, k.Local.Port())
		}
	}
	peers, err := w.source.Peers(w.ctx, ports)
	for _, p := range peers {
		a := bare(p.Address)
		if w.believes(p) && !w.here(0, a) {
			w.address(Connection{Remote: a}, "")
		}
	}
	why := "with whom the server at UDP port " + fmt.Sprint(w.udp[0].Local.Port()) + " talks is not "
	switch {
	case err != nil:
		w.to.gaps = append(w.to.gaps, why+fmt.Sprintf("all known (%v)", err))
	case len(w.to.From) == 0:
		w.to.gaps = append(w.to.gaps, why+"seen")
	}
}
