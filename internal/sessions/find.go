// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
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
	for _, s := range f.seeds() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.add(s)
	}
	f.judge()
	for _, l := range f.logins {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.follow(l)
	}
	f.callerUIDs = f.callers().uids
	f.findListeners()
	f.findPrompts()
	f.rememberServers()
	f.noteUnseen()
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
	likely bool // one of the accounts of a caller whom no way leads up from, or of root
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
	listening   map[place][]Socket
	doors       map[door]bool
	came        map[int][]SocketID            // connections of a process that came in
	addresses   map[Space]map[netip.Addr]bool // of this machine
	line        []int                         // this run and its ancestors
	files       map[int]Files
	opened      map[SocketID][]int // processes that hold it, among those in files
	serves      map[int]map[Port]bool
	described   map[int]Description
	traffic     map[SocketID]Traffic
	logins      []*login
	vouched     map[*Session]bool // that root, or a service which let somebody in, serves
	callerUIDs  map[int]bool      // accounts that this run has come through, but root
	prompts     []prompt
	unseen      []int           // processes whose sessions begin where this run does not look
	aboveUnseen map[int]bool    // those and their ancestors
	listeners   map[Port]*Claim // ports whose servers are still to be found
	model       *Model
}

func newFinder(ctx context.Context, source Source, s Snapshot) *finder {
	f := &finder{
		ctx: ctx, source: source, snapshot: s, register: newRegister(s.Logins),
		processes: map[int]Process{}, children: map[int][]int{},
		sockets: map[SocketID]Socket{}, byEnds: map[ends]SocketID{}, listening: map[place][]Socket{}, doors: map[door]bool{}, came: map[int][]SocketID{},
		addresses: map[Space]map[netip.Addr]bool{0: set(s.Addresses)}, files: map[int]Files{}, opened: map[SocketID][]int{}, serves: map[int]map[Port]bool{}, described: map[int]Description{}, listeners: map[Port]*Claim{}, aboveUnseen: map[int]bool{}, vouched: map[*Session]bool{},
		model: &Model{Addresses: map[netip.Addr]Claim{}, Processes: map[int]Claim{}, Units: map[string]Claim{}, Ports: map[Port]Claim{}},
	}
	for _, p := range s.Processes {
		f.processes[p.PID] = p
		f.children[p.Parent] = append(f.children[p.Parent], p.PID)
	}
	for space, list := range s.Elsewhere {
		f.addresses[space] = set(list)
	}
	for _, k := range s.Sockets {
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
	for _, why := range s.Unread {
		f.model.Gaps = append(f.model.Gaps, Gap{Why: why, Whose: PossiblyOwn, Trusted: true})
	}
	f.line = f.ancestors(s.Self, maxOwnLevels)
	return f
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
	if k.Remote.Port() == 0 {
		return false
	}
	_, known := f.otherEnd(k)
	return known || f.here(k.Space, k.Remote.Addr())
}

// otherEnd finds the socket at the other end of a connection that stays on this machine. That may be in
// this run's network namespace where the connection is of another. Anybody can begin a connection, and
// make one of UDP, whose ends are those of somebody else's (IPV6_FREEBIND of ipv6(7)).
func (f *finder) otherEnd(k Socket) (id SocketID, known bool) {
	if k.Protocol == "udp" && !f.here(k.Space, k.Remote.Addr()) {
		return 0, false
	}
	for _, space := range []Space{k.Space, 0} {
		if id, known = f.byEnds[ends{space, k.Protocol, k.Remote, k.Local}]; known {
			return id, true
		}
	}
	return 0, false
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

// withAncestors returns processes and all their ancestors, without process 1.
func (f *finder) withAncestors(list []int) (all []int) {
	seen := map[int]bool{1: true}
	for _, pid := range list {
		for p, ok := f.processes[pid]; ok && !seen[p.PID]; p, ok = f.processes[p.Parent] {
			seen[p.PID] = true
			all = append(all, p.PID)
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
	if slices.Contains(f.line, pid) {
		g.Whose = Own
	}
	f.model.Gaps = append(f.model.Gaps, g)
}

// describe reads more about a process, once.
func (f *finder) describe(pid int) Description {
	known, ok := f.described[pid]
	if !ok {
		known, _ = f.source.Describe(f.ctx, pid) //nolint:errcheck // what is unknown stays zero, and so root's
		f.described[pid] = known
	}
	return known
}

// add takes what was found from a seed. Seeds that lead to the same connections are one session: a
// terminal, its record and the server's process all lead to it.
func (f *finder) add(s seed) {
	c := f.climb(s.pid, s.terminal)
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

// unserved keeps a login that root has recorded and that no connection of the network seems to serve: its
// address still counts. One over another kind of socket has none (AF_UNIX, AF_VSOCK; sshd of systemd's
// sshd-unix-local.socket), and is a session all the same.
func (f *finder) unserved(s seed, record *Login) {
	leads := f.recordedLeads(s, record)
	if len(leads) == 0 {
		f.remember(s)
		return
	}
	l := f.recorded(record)
	l.leads = append(l.leads, leads...)
	l.begin(s)
	l.Terminal = cmp.Or(l.Terminal, s.terminal)
}

// recorded returns the login of a record that no connection is known of.
func (f *finder) recorded(record *Login) *login {
	for _, l := range f.logins {
		if l.record == record && len(l.sockets) == 0 {
			return l
		}
	}
	l := &login{Session: &Session{User: record.User}, chain: chain{trusted: true}, record: record}
	if !record.From.IsValid() {
		l.gaps = append(l.gaps, "with whom "+f.name(record.Leader)+" is connected is not seen")
	}
	if slices.Contains(f.line, record.Leader) {
		l.Whose = Own
	}
	l.describe()
	f.logins = append(f.logins, l)
	return l
}

// recordedLeads lists what a recorded login ends with, from a seed of it: what leads up from its terminal to the
// process that logged in, but not from terminals within the session; or what that process has started, and a
// part of it, which shares a socket with it, has.
func (f *finder) recordedLeads(s seed, record *Login) []int {
	if record == nil {
		return nil
	}
	if s.pid == record.Leader {
		return f.startedFor(s.pid)
	}
	line := f.ancestry(s.pid)
	at := slices.Index(line, record.Leader)
	within := func(pid int) bool { t := f.processes[pid].Terminal; return t != "" && t != s.terminal }
	if at < 0 || f.describe(s.pid).Elsewhere || slices.ContainsFunc(line[:at], within) {
		return nil
	}
	return slices.Clone(line[:at+1])
}

// startedFor lists a process, what it has started, and what parts of it have.
func (f *finder) startedFor(pid int) []int {
	list := []int{pid}
	for _, child := range f.startedBy(pid) {
		list = append(list, child)
		shared := func(id SocketID) bool { return slices.Contains(f.open(child).Sockets, id) }
		if slices.ContainsFunc(f.open(pid).Sockets, shared) {
			list = append(list, f.startedBy(child)...)
		}
	}
	return list
}

// console takes a login at a terminal of the machine itself that the session manager does not know.
func (f *finder) console(s seed, record *Login) {
	if record != nil {
		return
	}
	l := &login{
		Session: &Session{User: f.user(s, nil), Terminal: f.processes[s.pid].Terminal, Local: true},
		chain:   chain{leads: append([]int{s.pid}, f.startedBy(s.pid)...), trusted: true}, begins: []int{s.pid},
	}
	if slices.ContainsFunc(l.leads, func(pid int) bool { return slices.Contains(f.line, pid) }) {
		l.Whose = Own
	}
	f.logins = append(f.logins, l)
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

// A register finds what the system has recorded of logins. Users have many of their jobs recorded.
type register struct {
	logins   []Login
	terminal map[string]int // of the session manager, by what tells them, the last of each
	leader   map[int]int
	id       map[string]int
	hints    map[string]int // other records, by terminal
}

func newRegister(logins []Login) register {
	r := register{logins, map[string]int{}, map[int]int{}, map[string]int{}, map[string]int{}}
	for i, l := range logins {
		if !l.Manager {
			r.hints[l.Terminal] = i
			continue
		}
		r.terminal[l.Terminal], r.leader[l.Leader], r.id[l.ID] = i, i, i
	}
	return r
}

// at returns the login of an index; nil where no key was found.
func (r register) at(i int) *Login {
	if i < 0 {
		return nil
	}
	return &r.logins[i]
}

// lookUp returns the index of a key, or -1.
func lookUp[K comparable](m map[K]int, key K) int {
	var none K
	if i, ok := m[key]; ok && key != none {
		return i
	}
	return -1
}

// records finds what the system has recorded of a session. A terminal of that number may be another's,
// whose login is not among the ancestors.
func (f *finder) records(s seed, c chain) (record, hint *Login) {
	r := f.register
	last := max(lookUp(r.leader, s.pid), lookUp(r.id, f.describe(s.pid).Login))
	if at := lookUp(r.terminal, s.terminal); at >= 0 && slices.Contains(f.ancestry(s.pid), r.logins[at].Leader) {
		last = max(last, at)
	}
	for _, pid := range c.members {
		last = max(last, lookUp(r.leader, pid))
	}
	return r.at(last), r.at(lookUp(r.hints, s.terminal))
}

// user names whose session it is: the record's, or the account that the first process runs as which
// is not root's.
func (f *finder) user(s seed, record *Login) string {
	if record != nil && record.User != "" {
		return record.User
	}
	name := f.describe(s.pid).User
	seen := map[int]bool{} // who reads the table while it changes may be told a circle
	for queue := []int{s.pid}; len(queue) > 0 && len(queue) < maxSockets; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		if d := f.describe(queue[0]); !d.System {
			return d.User
		}
		if s.terminal == "" || f.processes[queue[0]].Terminal == s.terminal {
			queue = append(slices.Clone(queue), f.children[queue[0]]...)
		}
	}
	return name
}
