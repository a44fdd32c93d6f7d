// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"slices"

	"sentinel/internal/sshserver"
)

// A seed is a process to climb up from.
type seed struct {
	pid      int
	terminal string // that another process serves it; empty to begin with the process itself
	console  bool   // a login at a terminal of the machine itself
}

// seeds lists where sessions may begin: at terminals, at what the session manager has recorded, at
// consoles, and at the connections of SSH servers over which somebody is logged in. The last is the one rule that
// goes by the name of a program, which must be root's: a session without a terminal (sftp, -N) of a
// server without PAM leaves no other trace.
func (f *finder) seeds() []seed {
	list := f.terminals()
	for _, l := range f.snapshot.Logins {
		if _, alive := f.processes[l.Leader]; l.Manager && alive {
			list = append(list, seed{pid: l.Leader})
		}
	}
	return slices.Concat(list, f.consoles(), f.sshServers(), f.caller())
}

// caller begins with this run itself, where nothing else leads to its session: a server of root that is
// not OpenSSH has started it without a terminal. Such a server has a process for each connection; one
// that takes connections itself has many, and those are not what its children came in by.
func (f *finder) caller() []seed {
	for _, pid := range f.line {
		own := func(id SocketID) bool { return f.connected(id) && !f.servesAt(pid, portOf(f.sockets[id])) }
		if f.describe(pid).System && slices.ContainsFunc(f.cameIn(pid).sockets, own) {
			return []seed{{pid: pid}}
		}
	}
	if over := f.cameOver(f.line); over != nil && f.describe(over.pid).System {
		return []seed{{pid: over.pid}}
	}
	return nil
}

// terminals finds the leading process of each session (setsid(2)) at a pseudo-terminal, or the oldest.
// The number of a terminal tells it from others in one mount of devpts alone, and everybody can have
// a mount of their own.
func (f *finder) terminals() []seed {
	type session struct {
		terminal string
		leader   int
	}
	first := map[session]int{}
	for _, p := range f.snapshot.Processes {
		if !p.Pseudo || p.Terminal == "" {
			continue
		}
		at := session{p.Terminal, p.Leader}
		known, met := first[at]
		if !met || p.Leader == p.PID || known != p.Leader && p.PID < known {
			first[at] = p.PID
		}
	}
	list := make([]seed, 0, len(first))
	for at, pid := range first {
		list = append(list, seed{pid: pid, terminal: at.terminal})
	}
	slices.SortFunc(list, func(a, b seed) int { return cmp.Compare(a.pid, b.pid) })
	return list
}

// consoles finds root's login programs at terminals of the machine itself at which somebody has logged in.
// Without a session manager nothing else tells of that.
func (f *finder) consoles() (list []seed) {
	for _, p := range f.snapshot.Processes {
		if p.Pseudo || p.Terminal == "" || !f.entrance(p.PID) || slices.ContainsFunc(f.ancestry(p.Parent), f.entrance) {
			continue
		}
		if slices.ContainsFunc(f.some(p.PID), f.goesOn) {
			list = append(list, seed{pid: p.PID, console: true})
		}
	}
	return list
}

// sshServers finds root's processes of SSH servers that hold a connection which is logged in. A
// client that has not logged in has no session: otherwise nobody who tries passwords could be
// blocked, being connected almost all the time.
func (f *finder) sshServers() []seed {
	byConnection := map[SocketID][]int{}
	for _, p := range f.snapshot.Processes {
		if !sshserver.Is(p.Name) || !f.ofRoot(p.PID) && !f.belowServer(p) {
			continue
		}
		for _, id := range f.open(p.PID).Sockets {
			if k := f.sockets[id]; k.Protocol == "tcp" && k.Established {
				byConnection[id] = append(byConnection[id], p.PID)
			}
		}
	}
	var list []seed
	for _, holders := range byConnection {
		root := slices.IndexFunc(holders, f.ofRoot)
		if root >= 0 && !slices.ContainsFunc(holders, f.awaitsLogin) {
			list = append(list, seed{pid: holders[root]})
		}
	}
	slices.SortFunc(list, func(a, b seed) int { return cmp.Compare(a.pid, b.pid) })
	return list
}

// ofRoot reports whether a process is root's, and ofSystem whether it is that of root or of a service. What
// a user has started that lends the rights of such an account is neither, also where it takes that for its real
// one, as at(1) and exim do: the user chose what it has open, and what it is called.
func (f *finder) ofRoot(pid int) bool {
	d := f.describe(pid)
	return d.UID == 0 && !d.Lent && !d.Ended
}

func (f *finder) ofSystem(pid int) bool {
	d := f.describe(pid)
	return d.System && !d.Lent
}

// belowServer reports whether a process that gave up root has an SSH server of root for a parent.
func (f *finder) belowServer(p Process) bool {
	parent, ok := f.processes[p.Parent]
	return ok && sshserver.Is(parent.Name) && f.ofRoot(parent.PID)
}

func (f *finder) awaitsLogin(pid int) bool {
	name := f.processes[pid].Name
	return sshserver.AwaitsLogin(name, f.describe(pid).CommandLine) || !sshserver.Titled(name) && f.idle(pid)
}

// idle reports whether a server's process does nothing for its client: it has started nothing, serves no
// terminal, and has one socket of the network alone. Dropbear has a process of root's for each client, logged in or
// not, which looks the same until it does. Where what a process has open is not all known, none is idle.
func (f *finder) idle(pid int) bool {
	own := f.open(pid)
	network := map[SocketID]bool{}
	for _, id := range own.Sockets {
		if k, known := f.sockets[id]; known && k.Peer == 0 {
			network[k.connection()] = true
		}
	}
	told := f.snapshot.Masters && f.unread[pid] == nil
	return told && len(f.children[pid]) == 0 && len(own.Masters) == 0 && len(network) < 2
}

// A chain is what serves a session: the process that holds the other side of its terminal, and its
// ancestors up to the last that holds one of the connections.
type chain struct {
	members []int
	sockets []SocketID    // sorted
	ports   map[Port]bool // local ones of these
	trusted bool          // root's, or a service's that has let somebody else in
	leads   []int         // from the leader of the terminal up to what serves it, where the session ends with these
	server  int           // of the terminal, where no connection leads up to it; 0 for none
}

// climb goes up from a process to the connections that its session comes over. With a terminal it
// begins at the process that serves it.
//
// The nearest process with connections that came in decides. Of those of a user's process that one of
// the system holds as well, only these count: a user's part of a server also holds what the user has
// it forward. A daemon may have opened the connection itself, as agents do. That counts for one of root, and
// for one of a service that has let somebody else in: whoever gets into a service has its processes connect
// to any address. Nor does it count for what a user started with the rights of either. What an ordinary user's process opened does not count, except for the caller's own
// session: anybody can connect, and nobody gains by locking out themselves.
func (f *finder) climb(pid int, terminal string) chain {
	line, leads := f.ancestry(pid), []int(nil)
	if terminal != "" && f.snapshot.Masters {
		at := slices.IndexFunc(line, f.holdsMaster(terminal))
		if at < 0 {
			return f.climbFrom(f.serverOf(terminal, pid), pid, line)
		}
		leads, line = line[:at], line[at:]
	} else if terminal != "" && len(line) > 0 {
		leads, line = line[:1], line[1:] // the shell itself serves nobody
	}
	return f.climbOn(pid, pid, leads, line)
}

// climbFrom goes on with what serves the terminal that a process leads and is not above it; 0 is none. What is let in
// is that server, since anybody may lead a terminal that is handed to them.
func (f *finder) climbFrom(server, pid int, leads []int) chain {
	if server == 0 {
		return chain{}
	}
	return f.climbOn(pid, server, leads, f.ancestry(server))
}

// climbOn goes up a line of processes, from what serves the terminal that a process leads. first is what the session
// begins with.
func (f *finder) climbOn(pid, first int, leads, line []int) chain {
	chosen, trusted := f.choose(line, first)
	if chosen == nil {
		return chain{server: f.lastServer(line)}
	}
	top := slices.Index(line, f.lastHolder(chosen))
	if top < 0 {
		top = len(line) - 1
	}
	c := chain{members: slices.Clone(line[:top+1]), sockets: chosen.sockets, ports: chosen.ports, trusted: trusted}
	if f.endsWith(line, chosen.sockets) || len(leads) == 1 && f.monitors(pid, line[0]) {
		c.leads = slices.Clone(leads)
	}
	return c
}

// endsWith reports whether a session over some sockets ends with the first of a line of processes, which serves a
// terminal. One in place of the shell, such as a recorder, does; what a shell has started serves one within the
// session, which goes on.
func (f *finder) endsWith(line []int, sockets []SocketID) bool {
	outermost := func(pid int) bool { return f.processes[pid].Terminal == "" || f.holds(pid, sockets) }
	at := slices.IndexFunc(line, outermost)
	return at >= 0 && !slices.ContainsFunc(line[:at], f.within)
}

// within reports whether a process is at a terminal that another leads.
func (f *finder) within(pid int) bool {
	p := f.processes[pid]
	return p.Terminal != "" && p.Leader != pid
}

// monitors reports whether a process leads a terminal as a part of the program that serves it, as sudo has one
// (use_pty of sudoers(5)): without it the other part never gives the terminal of the session back.
func (f *finder) monitors(pid, server int) bool {
	lends := func(pid int) bool { return f.letsIn(pid) || f.describe(pid).Raised }
	return lends(pid) && lends(server)
}

// holds reports whether a process has one of the sockets open, which are sorted.
func (f *finder) holds(pid int, list []SocketID) bool {
	return slices.ContainsFunc(f.open(pid).Sockets, func(id SocketID) bool {
		_, has := slices.BinarySearch(list, id)
		return has
	})
}

// A holding is sockets of one process. Any number of sessions may come over them, so what follows from all of
// them is found out once.
type holding struct {
	pid     int
	sockets []SocketID    // sorted, and never changed
	ports   map[Port]bool // local ones of these
	top     int           // see lastHolder; 0 until that is asked for
}

func (f *finder) newHolding(pid int, list []SocketID) *holding {
	return &holding{pid: pid, sockets: list, ports: f.portsOf(list)}
}

func (f *finder) portsOf(list []SocketID) map[Port]bool {
	ports := map[Port]bool{}
	for _, id := range list {
		ports[portOf(f.sockets[id])] = true
	}
	return ports
}

// lastHolder returns the last of a process and its ancestors that holds one of the sockets.
func (f *finder) lastHolder(of *holding) int {
	if of.top != 0 {
		return of.top
	}
	line := f.ancestry(of.pid)
	at := make(map[int]int, len(line))
	for i, pid := range line {
		f.open(pid)
		at[pid] = i
	}
	last := 0
	for _, id := range of.sockets {
		for _, pid := range f.opened[id] {
			last = max(last, at[pid])
		}
	}
	of.top = line[last]
	return of.top
}

// choose picks the connections of a session, which begins with a process, among those of a line of processes
// above it; nil for none.
func (f *finder) choose(line []int, first int) (chosen *holding, trusted bool) {
	for _, pid := range line {
		in := f.cameIn(pid)
		if len(in.sockets) == 0 {
			continue
		}
		vouched := f.letIn(pid, first)
		switch {
		case !f.ofSystem(pid) && len(f.sharedIn(pid).sockets) > 0:
			return f.sharedIn(pid), true
		case vouched && !slices.ContainsFunc(in.sockets, f.connected):
			return f.heldBy(pid), true
		default:
			return in, vouched
		}
	}
	own := len(line) > 0 && slices.Contains(f.line, line[0])
	if own {
		if over := f.cameOver(line); over != nil {
			return over, f.letIn(over.pid, first)
		}
	}
	for _, pid := range line {
		if !own && !f.ofSystem(pid) {
			continue
		}
		if out := f.heldBy(pid); len(out.sockets) > 0 && (own || f.letIn(pid, first)) {
			return out, f.letIn(pid, first)
		}
	}
	return nil, false
}

// letIn reports whether a process has let somebody in whose session begins with another: one of root's, or
// one of a service where somebody is who is not that service. A service that serves a terminal to itself
// has been broken into, for all that is known.
func (f *finder) letIn(pid, first int) bool {
	other := func(its Description) bool { return its.UID != f.describe(pid).UID }
	return f.ofRoot(pid) || f.ofSystem(pid) && slices.ContainsFunc(f.some(first), func(pid int) bool { return f.is(pid, other) })
}

// some lists a process and some of those below it, the nearest first.
func (f *finder) some(pid int) []int {
	list := []int{pid}
	for i := 0; i < len(list) && len(list) < maxSockets; i++ {
		list = append(list, f.startedBy(list[i])...)
	}
	return list
}

func (f *finder) connected(id SocketID) bool { return f.sockets[id].Remote.Port() != 0 }

// once returns what is known of a process, or of a proxy, which is found out when it is first asked for.
func once[K comparable, V any](known map[K]V, of K, find func() V) V {
	v, met := known[of]
	if !met {
		v = find()
		known[of] = v
	}
	return v
}

// held lists the sockets of a process that may carry a session, sorted. A proxy has as many as others like, and
// carries any number of sessions: they are gone through once.
func (f *finder) held(pid int) []SocketID {
	return once(f.carriers, pid, func() (list []SocketID) {
		for _, id := range f.open(pid).Sockets {
			if k, known := f.sockets[id]; known && carries(k) {
				list = append(list, id)
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	})
}

// heldBy are the sockets of a process that may carry a session.
func (f *finder) heldBy(pid int) *holding {
	return once(f.all, pid, func() *holding { return f.newHolding(pid, f.held(pid)) })
}

// cameIn are those that came in.
func (f *finder) cameIn(pid int) *holding {
	return once(f.came, pid, func() *holding { return f.newHolding(pid, f.acceptedOf(f.held(pid))) })
}

// sharedIn are those of them that a process of the system above holds as well.
func (f *finder) sharedIn(pid int) *holding {
	return once(f.shared, pid, func() *holding { return f.newHolding(pid, f.acceptedOf(f.sharedAbove(pid))) })
}

// acceptedOf picks those that came in. Of a connection with several paths this machine may have begun some, to what
// the other end says are its addresses too.
func (f *finder) acceptedOf(list []SocketID) (came []SocketID) {
	in := map[SocketID]bool{}
	for _, id := range list {
		if k := f.sockets[id]; f.accepted(k) {
			in[k.connection()] = true
		}
	}
	for _, id := range list {
		if in[f.sockets[id].connection()] {
			came = append(came, id)
		}
	}
	return came
}

// sharedAbove lists the sockets of a process that may carry a session and that one of the system above it holds
// as well.
func (f *finder) sharedAbove(pid int) []SocketID {
	return once(f.sharedAll, pid, func() (shared []SocketID) {
		above := map[int]bool{}
		for _, p := range f.ancestry(pid) {
			if p != pid && f.ofSystem(p) {
				f.open(p)
				above[p] = true
			}
		}
		for _, id := range f.held(pid) {
			if slices.ContainsFunc(f.opened[id], func(pid int) bool { return above[pid] }) {
				shared = append(shared, id)
			}
		}
		return shared
	})
}

// carries reports whether a socket may be the one that a session comes over. A connection that the
// other end has not agreed to carries nothing: anybody can begin one with any address.
func carries(k Socket) bool {
	if k.Protocol == "tcp" {
		return k.Established
	}
	return !k.Listening && k.Local.Port() != 0
}
