// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxLevels bounds how many ancestors of a process are looked at, and maxOwnLevels how many of this
	// run. Nobody needs that many, and each terminal of a user has as many as he likes.
	maxLevels    = 256
	maxOwnLevels = 4096
	// maxSockets bounds how many sockets of one session are followed.
	maxSockets = 64
	// maxRelayed bounds how many hosts that talk with a proxy may carry one session of somebody else;
	// beyond, none of them is held to. The caller's own has no such bound.
	maxRelayed = 16
)

// Find makes the model. It fails only where the tables of the machine cannot be read; whatever else
// is not known is a gap.
func Find(ctx context.Context, source Source) (*Model, error) {
	snapshot, err := source.Read(ctx)
	if err != nil {
		return nil, err
	}
	f := newFinder(ctx, source, snapshot)
	f.goOn()
	f.callerUIDs = f.callers().uids
	for _, s := range f.seeds() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.add(s)
	}
	f.judge()
	f.ownFirst()
	for _, l := range f.logins {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.follow(l)
	}
	f.attach()
	f.findListeners()
	f.findPrompts()
	f.rememberServers()
	f.noteUnseen()
	f.claimUnseen()
	f.outsiders()
	f.finish()
	return f.model, ctx.Err()
}

// A login is a session on the way to its model.
type login struct {
	*Session
	chain
	begins []int  // the leading processes at its terminals
	record *Login // of the session manager
	hint   *Login // of another record
	gaps   []string
	// skipped is why a gap is, where it was not looked at something.
	skipped *SkippedError
	likely  bool // one of the accounts of a caller whom no way leads up from, or of root
}

type ends struct {
	space         Space
	protocol      string
	local, remote netip.AddrPort
}

type place struct {
	space Space
	port  Port
}

// A door is where a server takes connections, and whose it is.
type door struct {
	place
	address netip.Addr // zero for any
	uid     int        // 0 for unknown ones too
}

type finder struct {
	ctx         context.Context
	source      Source
	snapshot    Snapshot
	register    register
	processes   map[int]Process
	children    map[int][]int
	sockets     map[SocketID]Socket
	byEnds      map[ends]SocketID
	began       map[ends][]SocketID // connections that containers have begun, by the own end alone
	listening   map[place][]Socket
	doors       map[door]bool
	carriers    map[int][]SocketID // sockets of a process that may carry a session
	came        map[int]*holding   // those of a process that came in
	all         map[int]*holding   // its carriers
	shared      map[int]*holding   // those that came in, and that one of the system above holds as well
	sharedAll   map[int][]SocketID // carriers that one of the system above holds as well
	around      map[int][]SocketID // connections of the session that a process was started in
	ways        map[proxy]ways
	addresses   map[Space]map[netip.Addr]bool // of this machine
	line        []int                         // this run and its ancestors, and those of what serves their terminal
	askMasters  func()                        // once
	masters     map[string][]int              // what serves which terminal; nil until that is asked for
	mastersErr  error                         // why some are missing
	containers  map[netip.Addr]contained      // other hosts that may be one of this machine
	files       map[int]Files
	unread      map[int]error      // why, of processes that have more open than files tells
	opened      map[SocketID][]int // processes that hold it, among those in files
	serves      map[int]map[Port]bool
	described   map[int]Description
	apart       map[int][]int // servers of terminals that no connection leads up to, with what leads at these
	readings    []reading     // of what connections have moved, one after the other
	logins      []*login
	vouched     map[*Session]bool // that root, or a service which let somebody in, serves
	callerUIDs  map[int]bool      // accounts that this run has come through, but root
	prompts     []prompt
	unseen      []int               // processes whose sessions begin where this run does not look
	aboveUnseen map[int]bool        // those and their ancestors
	listeners   map[Port]*Claim     // ports whose servers are still to be found
	linked      map[Connection]bool // those of the model
	local, lead map[int][]SocketID  // Unix sockets of a process that came in, and those that lead to the network
	led         int                 // for how many processes that was looked for
	unlooked    map[unlooked]bool   // why something of that was not looked at
	model       *Model
}

func newFinder(ctx context.Context, source Source, s Snapshot) *finder {
	f := &finder{
		ctx: ctx, source: source, snapshot: s, register: newRegister(s.Logins),
		processes: map[int]Process{}, children: map[int][]int{},
		sockets: map[SocketID]Socket{}, byEnds: map[ends]SocketID{}, began: map[ends][]SocketID{}, listening: map[place][]Socket{}, doors: map[door]bool{},
		carriers: map[int][]SocketID{}, came: map[int]*holding{}, all: map[int]*holding{}, shared: map[int]*holding{}, sharedAll: map[int][]SocketID{}, around: map[int][]SocketID{}, ways: map[proxy]ways{}, containers: map[netip.Addr]contained{}, linked: map[Connection]bool{}, apart: map[int][]int{}, local: map[int][]SocketID{}, lead: map[int][]SocketID{}, unlooked: map[unlooked]bool{},
		addresses: map[Space]map[netip.Addr]bool{0: set(s.Addresses)}, files: map[int]Files{}, unread: map[int]error{}, opened: map[SocketID][]int{}, serves: map[int]map[Port]bool{}, described: map[int]Description{}, listeners: map[Port]*Claim{}, aboveUnseen: map[int]bool{}, vouched: map[*Session]bool{},
		model: &Model{Addresses: map[netip.Addr]Claim{}, Processes: map[int]Claim{}, Units: map[string]Claim{}, Ports: map[Port]Claim{}},
	}
	for _, p := range s.Processes {
		f.processes[p.PID] = p
		f.children[p.Parent] = append(f.children[p.Parent], p.PID)
	}
	for space, list := range s.Elsewhere {
		f.addresses[space] = set(list)
	}
	f.learn(s.Sockets)
	for _, why := range s.Unread {
		f.model.Gaps = append(f.model.Gaps, Gap{Why: why, Whose: PossiblyOwn, Trusted: true})
	}
	f.line = f.ancestors(s.Self, maxOwnLevels)
	f.askMasters = sync.OnceFunc(func() { f.masters, f.mastersErr = source.Serving(ctx) })
	return f
}

// learn takes sockets over.
func (f *finder) learn(list []Socket) {
	for _, k := range list {
		k.Local, k.Remote = plain(k.Local), plain(k.Remote)
		f.sockets[k.ID] = k
		if k.Listening {
			at := place{k.Space, portOf(k)}
			f.listening[at] = append(f.listening[at], k)
			f.doors[doorOf(k, k.Local.Addr(), k.UID)] = true
		} else if k.Remote.Port() != 0 && carries(k) {
			f.byEnds[ends{k.Space, k.Protocol, k.Local, k.Remote}] = k.ID
		}
	}
}

func set(list []netip.Addr) map[netip.Addr]bool {
	all := make(map[netip.Addr]bool, len(list))
	for _, a := range list {
		all[bare(a)] = true
	}
	return all
}

// bare drops what does not tell one host from another.
func bare(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(bare(a.Addr()), a.Port()) }

func portOf(k Socket) Port { return Port{k.Protocol, k.Local.Port()} }

// here reports whether an address is of this machine, as a socket in a network namespace sees it.
func (f *finder) here(space Space, a netip.Addr) bool {
	return a.IsLoopback() || f.addresses[0][a] || f.addresses[space][a]
}

// inside reports whether a connection stays on this machine. Addresses that are routed to it need be on
// none of its interfaces (ip-route(8), "local"), and then the socket at the other end tells.
func (f *finder) inside(k Socket) bool {
	if k.Peer != 0 {
		return true
	}
	if k.Remote.Port() == 0 {
		return false
	}
	_, known := f.otherEnd(k)
	return known || f.here(k.Space, k.Remote.Addr())
}

// otherEnd finds the socket at the other end of a connection that stays on this machine. That may be in
// this run's network namespace where the connection is of another, or in that of a container. Anybody can begin a connection, and
// make one of UDP, whose ends are those of somebody else's (IPV6_FREEBIND of ipv6(7)).
func (f *finder) otherEnd(k Socket) (id SocketID, known bool) {
	if k.Peer != 0 {
		return k.Peer, true
	}
	if k.Protocol == "udp" && !f.here(k.Space, k.Remote.Addr()) {
		return 0, false
	}
	for _, space := range []Space{k.Space, 0, f.containers[k.Remote.Addr()].Space} {
		if id, known = f.byEnds[ends{space, k.Protocol, k.Remote, k.Local}]; known {
			return id, true
		}
	}
	return f.inContainer(k)
}

// accepted reports whether a connection came in, as far as a server still listens at its port, of root or
// of the same user: anybody may listen at the port of a connection that went out, in the other family. A
// UDP socket that takes packets from anybody counts.
func (f *finder) accepted(k Socket) bool {
	if k.Protocol == "udp" && k.Remote.Port() == 0 {
		return true
	}
	for _, uid := range []int{0, k.UID} {
		if f.doors[doorOf(k, k.Local.Addr(), uid)] || f.doors[doorOf(k, netip.Addr{}, uid)] {
			return true
		}
	}
	return false
}

// doorOf is the door at the port of a socket.
func doorOf(k Socket, address netip.Addr, uid int) door {
	if address.IsUnspecified() {
		address = netip.Addr{}
	}
	return door{place{k.Space, portOf(k)}, address, max(uid, 0)}
}

// ancestry returns a process and its ancestors, without process 1.
func (f *finder) ancestry(pid int) []int { return f.ancestors(pid, maxLevels) }

func (f *finder) ancestors(pid, most int) (line []int) {
	for p, ok := f.processes[pid]; ok && p.PID > 1 && len(line) < most; p, ok = f.processes[p.Parent] {
		line = append(line, p.PID)
	}
	return line
}

// withAncestors returns processes and their ancestors, without process 1.
func (f *finder) withAncestors(list []int) (all []int) {
	seen := map[int]bool{1: true}
	for _, pid := range list {
		p, ok := f.processes[pid]
		for n := 0; ok && !seen[p.PID] && n < maxLevels; n++ {
			seen[p.PID] = true
			all = append(all, p.PID)
			p, ok = f.processes[p.Parent]
		}
	}
	return all
}

// open reads what a process has open, once.
func (f *finder) open(pid int) Files {
	known, ok := f.files[pid]
	if !ok {
		var err error
		if known, err = f.source.Open(f.ctx, pid); err != nil {
			f.unread[pid] = err
			f.gap(pid, err)
		}
		f.files[pid] = known
		for _, id := range known.Sockets {
			f.opened[id] = append(f.opened[id], pid)
		}
	}
	return known
}

// servesAt reports whether a process listens at a port.
func (f *finder) servesAt(pid int, port Port) bool {
	ports, known := f.serves[pid]
	if !known {
		ports = map[Port]bool{}
		for _, id := range f.open(pid).Sockets {
			if k := f.sockets[id]; k.Listening && k.Space == 0 {
				ports[portOf(k)] = true
			}
		}
		f.serves[pid] = ports
	}
	return ports[port]
}

// gap notes that a process could not be looked at.
func (f *finder) gap(pid int, err error) {
	g := Gap{Why: fmt.Sprintf("what %s has open is not known (%v)", f.name(pid), err), Trusted: f.describe(pid).System}
	g.Skipped, _ = errors.AsType[*SkippedError](err)
	if slices.Contains(f.line, pid) {
		g.Whose = Own
	}
	f.model.Gaps = append(f.model.Gaps, g)
}

// describe reads more about a process, once.
func (f *finder) describe(pid int) Description {
	known, ok := f.described[pid]
	if !ok {
		known, _ = f.source.Describe(f.ctx, pid) //nolint:errcheck // what is unknown stays zero, and so root's; what has ended is told
		f.described[pid] = known
	}
	return known
}

// add takes what was found from a seed. Seeds that lead to the same connections are one session: a
// terminal, its record and the server's process all lead to it.
func (f *finder) add(s seed) {
	c := f.climb(s.pid, s.terminal)
	if c.server != 0 && s.terminal != "" {
		f.apart[c.server] = append(f.apart[c.server], s.pid)
	}
	record, hint := f.records(s, c)
	if s.console {
		f.console(s, record)
		return
	}
	if len(c.sockets) == 0 && (record == nil || record.Remote) {
		f.unserved(s, record)
		return
	}
	if f.awaitsPerson(s, record) {
		f.prompts = append(f.prompts, prompt{s, c})
		return
	}
	for _, known := range f.logins {
		if len(c.sockets) > 0 && slices.Equal(known.sockets, c.sockets) {
			known.merge(s, c, record, hint)
			return
		}
	}
	l := &login{Session: &Session{Terminal: s.terminal, Local: len(c.sockets) == 0}, chain: c, record: record, hint: hint}
	l.User = f.user(s, record)
	if own := slices.ContainsFunc(c.members, func(pid int) bool { return slices.Contains(f.line, pid) }); own {
		l.Whose = Own
	}
	l.begin(s)
	l.describe()
	f.logins = append(f.logins, l)
}

func (l *login) begin(s seed) {
	if s.terminal != "" {
		l.begins = append(l.begins, s.pid)
	}
}

// merge adds what another seed tells about the same session.
func (l *login) merge(s seed, c chain, record, hint *Login) {
	l.Terminal = cmp.Or(l.Terminal, s.terminal)
	l.members = append(l.members, c.members...)
	slices.Sort(l.members)
	l.members = slices.Compact(l.members)
	l.leads = append(l.leads, c.leads...)
	l.trusted = l.trusted || c.trusted
	l.begin(s)
	if l.record == nil {
		l.record = record
	}
	if l.hint == nil {
		l.hint = hint
	}
	l.describe()
}

// describe takes over what records tell.
func (l *login) describe() {
	for _, r := range []*Login{l.record, l.hint} {
		if r == nil {
			continue
		}
		if l.User == "" || r.Manager {
			l.User = cmp.Or(r.User, l.User)
		}
		if l.Since.IsZero() {
			l.Since = r.Since
		}
		l.Terminal = cmp.Or(l.Terminal, r.Terminal)
	}
}
