// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// Bounds of what is kept of the connections of one answer.
const (
	// askedOfEach is how many connections of one conversation are asked for their process.
	askedOfEach = 4
	// groupRows is how many addresses an answer shows.
	groupRows = 5
)

// A FlowGroup counts the connections with one remote address.
type FlowGroup struct {
	Address     string `json:"address"`                // of the other end
	Connections int    `json:"connections"`            // in all states
	Established int    `json:"established,omitempty"`  // open in both directions
	SynSent     int    `json:"syn_sent,omitempty"`     // requested here and not answered yet
	SynReceived int    `json:"syn_received,omitempty"` // requested there and not confirmed yet; many are a flood
	CloseWait   int    `json:"close_wait,omitempty"`   // closed by the other end, but not by the process here
	TimeWait    int    `json:"time_wait,omitempty"`    // closed here, waiting for late packets
	Other       int    `json:"other,omitempty"`        // in any other state
}

func (g *FlowGroup) add(s State) {
	g.Connections++
	switch s {
	case Established:
		g.Established++
	case SynSent:
		g.SynSent++
	case SynReceived:
		g.SynReceived++
	case CloseWait:
		g.CloseWait++
	case TimeWait:
		g.TimeWait++
	default:
		g.Other++
	}
}

// A conversationKey is what connections have in common that do the same: the other end, the port of
// whichever end is the service, and their user, whose connections must not be asked about in place of another's.
type conversationKey struct {
	uid      int
	remote   netip.Addr
	service  uint16
	protocol Protocol
	inbound  bool // the service is a listener of this machine
}

// Peers sorts the connections of a machine by who is at the other end.
type peers struct {
	kept     kept
	serves   map[service]string // what this machine listens on, and the user of that as in [Socket.User]
	byRemote map[netip.Addr]*remote
	total    int
	timeWait int
}

// A remote is another end.
type remote struct {
	FlowGroup
	internal bool // it is this machine's own
}

type service struct {
	protocol Protocol
	port     uint16
}

func newPeers() *peers {
	return &peers{kept: kept{users: map[int]*share{}}, serves: map[service]string{}}
}

// listen notes a listener. Of several at a port root's counts.
func (p *peers) listen(s Socket) {
	k, user := service{s.Protocol, s.Local.Port()}, s.User()
	if other, known := p.serves[k]; known {
		user = min(user, other)
	}
	p.serves[k] = user
}

func (p *peers) add(s Socket) {
	p.total++
	if s.State == TimeWait {
		p.timeWait++
	}
	p.kept.add(s)
}

// count counts what was kept by the other end.
func (p *peers) count() {
	p.byRemote = map[netip.Addr]*remote{}
	for s := range p.kept.all() {
		r := p.byRemote[s.Remote.Addr()]
		if r == nil {
			r = &remote{internal: s.Internal}
			p.byRemote[s.Remote.Addr()] = r
		}
		r.add(s.State)
	}
}

// groups lists the addresses with most connections, each user's in turn, and those of this machine where
// there are places left: whoever talks to any number of addresses, or to themselves, hides none that
// others talk to. Of equals those come first that sort first.
func (p *peers) groups(rows int) []FlowGroup {
	picked := map[netip.Addr]bool{}
	for _, t := range p.talks() {
		if len(picked) < rows {
			picked[t.remote] = true
		}
	}
	list := []FlowGroup{}
	for _, a := range slices.SortedFunc(maps.Keys(picked), func(a, b netip.Addr) int {
		return cmp.Or(p.outerFirst(a, b), cmp.Compare(p.byRemote[b].Connections, p.byRemote[a].Connections), a.Compare(b))
	}) {
		group := p.byRemote[a].FlowGroup
		group.Address = sanitize.Text(a.String(), 96)
		list = append(list, group)
	}
	return list
}

func (p *peers) outerFirst(a, b netip.Addr) int {
	return answer.TrueFirst(!p.byRemote[a].internal, !p.byRemote[b].internal)
}

// A talk is what one user has with one address.
type talk struct {
	remote netip.Addr
	user   string
}

// talks lists those of most connections first, each user's in turn. An address that several users talk to is
// among those of each: none can make it theirs alone by more connections.
func (p *peers) talks() []talk {
	counts := map[talk]int{}
	for s := range p.kept.all() {
		counts[talk{s.Remote.Addr(), p.behind(s)}]++
	}
	list := slices.SortedFunc(maps.Keys(counts), func(a, b talk) int {
		return cmp.Or(p.outerFirst(a.remote, b.remote), cmp.Compare(counts[b], counts[a]), a.remote.Compare(b.remote), cmp.Compare(a.user, b.user))
	})
	list = answer.InTurn(list, func(t talk) string { return t.user })
	slices.SortStableFunc(list, func(a, b talk) int { return p.outerFirst(a.remote, b.remote) })
	return list
}

// anybody is the user of connections that are over, of whom the kernel keeps nothing.
const anybody = "anybody"

// behind is the user who brought a connection about: whoever made it, or who listens where it came in.
func (p *peers) behind(s *Socket) string {
	server, inbound := p.serves[service{s.Protocol, s.Local.Port()}]
	switch {
	case s.UID != 0:
		return s.User()
	case inbound:
		return server
	case s.State == TimeWait:
		return anybody
	default:
		return ""
	}
}

// A conversation is the connections with one key.
type conversation struct {
	conversationKey
	sockets []Socket // at most askedOfEach, the first in the order of byInterest
	count   int      // of its connections
}

// conversations lists the conversations of open connections, those that stand out first: each address has
// its turn before one has its second, and what this machine began comes before what it serves.
// Apart, each connection is one of its own, in the order of byInterest.
func (p *peers) conversations(apart bool) []*conversation {
	if apart {
		return p.eachAlone()
	}
	found := map[conversationKey]*conversation{}
	for s := range p.kept.all() {
		if s.State == TimeWait {
			continue
		}
		c := p.keyOf(s)
		if found[c] == nil {
			found[c] = &conversation{conversationKey: c}
		}
		found[c].add(*s)
	}
	list := answer.InTurn(slices.SortedFunc(maps.Values(found), byProminence), func(t *conversation) netip.Addr { return t.remote })
	slices.SortStableFunc(list, byKind)
	return list
}

func (p *peers) eachAlone() []*conversation {
	list := make([]*conversation, 0, p.total-p.kept.cut())
	for _, s := range slices.SortedFunc(p.kept.all(), func(a, b *Socket) int { return byInterest(*a, *b) }) {
		list = append(list, &conversation{sockets: []Socket{*s}})
	}
	return list
}

func (p *peers) keyOf(s *Socket) conversationKey {
	c := conversationKey{uid: s.UID, remote: s.Remote.Addr(), service: s.Remote.Port(), protocol: s.Protocol}
	if _, inbound := p.serves[service{s.Protocol, s.Local.Port()}]; inbound {
		c.service, c.inbound = s.Local.Port(), true
	}
	return c
}

// add keeps the first sockets by interest, so that the kernel's order does not matter.
func (t *conversation) add(s Socket) {
	t.count++
	if len(t.sockets) == askedOfEach && byInterest(s, t.sockets[askedOfEach-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(t.sockets, s, byInterest)
	t.sockets = slices.Insert(t.sockets, at, s)
	t.sockets = t.sockets[:min(askedOfEach, len(t.sockets))]
}

// byKind sorts conversations with an established connection first, then those with public addresses.
func byKind(a, b *conversation) int {
	return cmp.Or(
		answer.TrueFirst(a.sockets[0].State == Established, b.sockets[0].State == Established),
		answer.TrueFirst(public(a.remote), public(b.remote)),
	)
}

// byProminence sorts conversations of one kind: what this machine began before what it serves, then
// those of most connections.
func byProminence(a, b *conversation) int {
	return cmp.Or(
		byKind(a, b), answer.TrueFirst(!a.inbound, !b.inbound), cmp.Compare(b.count, a.count),
		a.remote.Compare(b.remote), cmp.Compare(a.service, b.service), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.uid, b.uid),
	)
}

// user is whose share of the rows a conversation takes.
func (t *conversation) user() string { return t.sockets[0].User() }

func socketsOf(conversations []*conversation) []Socket {
	var list []Socket
	for _, t := range conversations {
		list = append(list, t.sockets...)
	}
	return list
}

// oneForEachProcess keeps one connection for each process of a conversation.
func oneForEachProcess(conversations []*conversation, owners map[uint64]Owner) []Socket {
	var list []Socket
	for _, t := range conversations {
		seen := map[int]bool{}
		for _, s := range t.sockets {
			if pid := owners[s.ID].PID; !seen[pid] {
				seen[pid] = true
				list = append(list, s)
			}
		}
	}
	return list
}
