// SPDX-License-Identifier: Apache-2.0

package firewall

import "net/netip"

// A Packet is the first one of a connection that another host opens to this one: an ordinary host,
// with an address of its own and a port above 1023, that has not been here before.
type Packet struct {
	Protocol  string // "tcp", "udp" or "udplite"
	Port      uint16 // of this host
	AnyPort   bool   // instead of Port
	V6        bool
	Interface string     // by which it comes in; "" if it may be any but loopback
	Index     int        // of that interface, 0 if it may be any
	To        netip.Addr // the address of this host; invalid if it may be any, broadcast and multicast too
	// Marked, Untracked and Translated say that a rule on the way may have set a mark, turned
	// off connection tracking, or sent the packet here from another port.
	Marked, Untracked, Translated bool
}

// A Match says which packets a rule is about, of all those that differ from a [Packet] only in
// the host that sends them. A rule can tell hosts apart by their address, their source port, or
// what they did before.
type Match int

// The matches.
const (
	Never         Match = iota // none
	Always                     // all
	Particular                 // those of certain hosts, of which there are some
	PerhapsSome                // those of certain hosts, of which there may be none: a list that is not read, a rate
	AllButSome                 // those of all but certain hosts
	PerhapsAllBut              // the same, if there are any
	Unsure                     // not known
)

// And is the match of packets that both are about. Two choices of hosts in one rule, such as the two
// ends of a range, are taken for one.
func (m Match) And(o Match) Match {
	switch {
	case m == Never || o == Never:
		return Never
	case m == Always || m == o:
		return o
	case o == Always:
		return m
	case m.chooses() || o.chooses():
		return PerhapsSome
	case m == Unsure || o == Unsure:
		return Unsure
	default:
		return PerhapsAllBut
	}
}

// chooses reports whether the match is about chosen hosts alone, so that no ordinary one is among them.
func (m Match) chooses() bool { return m == Particular || m == PerhapsSome }

// Or is the match of packets that one or the other is about.
func (m Match) Or(o Match) Match { return m.Not().And(o.Not()).Not() }

// Not is the match of all other packets.
func (m Match) Not() Match {
	switch m {
	case Never:
		return Always
	case Always:
		return Never
	case Particular:
		return AllButSome
	case PerhapsSome:
		return PerhapsAllBut
	case AllButSome:
		return Particular
	case PerhapsAllBut:
		return PerhapsSome
	default:
		return Unsure
	}
}

// Is returns Always or Never, for a condition that holds for every packet or for none.
func Is(yes bool) Match {
	if yes {
		return Always
	}
	return Never
}

// An Action is what a rule does with a packet.
type Action int

// The actions.
const (
	GoOn   Action = iota // to the next rule: it counts, logs or marks
	Accept               // the base chain is done with it
	Drop                 // or reject
	Return               // to the chain that jumped here
	Jump                 // to another chain, and back
	Goto                 // to another chain
	Divert               // to another address or port, or to a program that decides
)

// A Rule is one rule of a chain.
type Rule struct {
	Matches func(Packet) Match // nil is always
	Action  Action
	Chain   string // of Jump and Goto
	// Target is where Divert sends packets: invalid if that is not known, at no address if it is this host. Port 0
	// is the one that they had, or not known.
	Target netip.AddrPort
	Marks  bool // it sets a mark of packets or connections
	// Untracks reports whether the rule turns connection tracking off.
	Untracks bool
	// Proxies reports whether the rule may hand packets to a socket of another port, which rules
	// that come later see under their own port.
	Proxies bool
}

func (r Rule) match(p Packet) Match {
	if r.Matches == nil {
		return Always
	}
	return r.Matches(p)
}

// A Hook is where the kernel hands packets to a base chain.
type Hook int

// The hooks on the way in. Chains at Aside see the packets of some devices only, or the frames of a
// bridge: what they drop says nothing about other packets.
const (
	NoHook     Hook = iota
	Prerouting      // before an address is translated
	Translation
	Input
	Aside
)

// A Link is a network interface of this host that is up and not loopback.
type Link struct {
	Index     int
	Name      string
	Addresses []netip.Addr // without zones
	Inner     bool         // only what runs on this host is behind it, as containers are
}
