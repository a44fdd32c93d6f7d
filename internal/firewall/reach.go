// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"

	"sentinel/internal/reach"
)

// maxWays bounds how many interfaces, and how many addresses, are tried one by one. Of more, rules
// that name one decide nothing.
const maxWays = 16

// Reach returns the judge of what other hosts can reach. It takes the first packet of a connection
// through the rules, for each interface and address it may come by. What tells hosts apart by
// their address or their behaviour limits an answer; what is not understood makes it unknown. Of
// other filters than the packet filter (eBPF, routers, the cloud's) it knows nothing.
func (f Facts) Reach() reach.Judge {
	if f.Application != nil {
		return f.Application.reach
	}
	w := newWays(f)
	return func(protocol string, local netip.AddrPort, _ string) reach.Verdict {
		return w.judge(protocol, netip.AddrPortFrom(local.Addr().Unmap().WithZone(""), local.Port()))
	}
}

// A ruleTable is a table of chains that can jump to each other.
type ruleTable struct {
	chains map[string]*Chain
	bases  []*Chain
}

// A tableName tells tables apart.
type tableName struct {
	xtables       bool
	family, table string
}

func (c *Chain) tableName() tableName { return tableName{c.XTables, c.Family, c.Table} }

// ways holds what decides whether a packet from outside comes in: the tables, and the links of this
// host that it can come by.
type ways struct {
	tables []*ruleTable
	named  map[tableName]*ruleTable
	facts  Facts
	rules  Packet // what rules may have done to any packet
	// proxied says that rules may hand packets to sockets of other ports.
	proxied bool
	marks   bool // rules mark packets, or turn off connection tracking
}

func newWays(f Facts) *ways {
	w := &ways{facts: f, named: map[tableName]*ruleTable{}}
	w.rules.Translated = f.Unreadable != nil
	for i := range f.Chains {
		c := &f.Chains[i]
		t := w.named[c.tableName()]
		if t == nil {
			t = &ruleTable{chains: map[string]*Chain{}}
			w.named[c.tableName()] = t
			w.tables = append(w.tables, t)
		}
		t.chains[c.Name] = c
		if c.Hook != NoHook {
			t.bases = append(t.bases, c)
		}
		w.note(c)
	}
	w.marks = w.rules.Marked || w.rules.Untracked
	return w
}

// note finds out what the rules of a chain may do to packets before others see them.
func (w *ways) note(c *Chain) {
	for _, r := range c.Rules {
		w.rules.Marked = w.rules.Marked || r.Marks
		w.rules.Untracked = w.rules.Untracked || r.Untracks
		w.proxied = w.proxied || r.Proxies
		if r.Action == Divert && (!r.Target.IsValid() || w.here(r.Target.Addr())) {
			w.rules.Translated = true
		}
	}
}

// here reports whether an address is one of this host; none is that of the interface.
func (w *ways) here(a netip.Addr) bool {
	for _, l := range w.facts.Links {
		if slices.Contains(l.Addresses, a) {
			return true
		}
	}
	return a.IsLoopback() || a.IsUnspecified()
}

const (
	whyUndecided = "the rules of the packet filter leave it open"
	whyDiverted  = "rules of the packet filter may send its packets elsewhere, or others here"
)

func (w *ways) judge(protocol string, local netip.AddrPort) reach.Verdict {
	var all []reach.Verdict
	for _, v6 := range families(local.Addr()) {
		if packets := w.packets(protocol, local, v6); len(packets) > 0 {
			all = append(all, w.together(packets))
		}
	}
	v := best(all)
	if w.proxied && (v.Answer == reach.Filtered || v.Limited) {
		v = reach.Verdict{Answer: reach.Unknown, Why: whyDiverted}
	}
	if w.facts.Unreadable != nil && v.Answer != reach.Filtered {
		return reach.Verdict{Answer: reach.Unknown, Why: "the rules of the packet filter " + unread(w.facts.Unreadable, "are ")}
	}
	return v
}

// families are those of the packets that reach a socket: one at all IPv6 addresses usually takes
// IPv4 as well (ipv6(7), IPV6_V6ONLY).
func families(a netip.Addr) (v6 []bool) {
	switch {
	case a.Is4():
		return []bool{false}
	case a.IsUnspecified():
		return []bool{true, false}
	default:
		return []bool{true}
	}
}

// packets are the first ones of connections to local: by each interface, to each address. A family
// in which this host has no address has none.
func (w *ways) packets(protocol string, local netip.AddrPort, v6 bool) []Packet {
	p := w.rules
	p.Protocol, p.Port, p.V6 = protocol, local.Port(), v6
	to := []netip.Addr{local.Addr()}
	if local.Addr().IsUnspecified() {
		if to = w.addresses(v6); len(to) == 0 && len(w.facts.Links) > 0 {
			return nil
		}
		if len(to) == 0 || len(to) > maxWays || protocol != "tcp" {
			to = append(to[:min(len(to), maxWays)], netip.Addr{})
		}
	}
	links := w.facts.Links
	if len(links) == 0 || len(links) > maxWays {
		links = []Link{{}}
	}
	var list []Packet
	for _, l := range links {
		for _, a := range to {
			p.Interface, p.Index, p.To = l.Name, l.Index, a
			list = append(list, p)
		}
	}
	return list
}

func (w *ways) addresses(v6 bool) []netip.Addr {
	var list []netip.Addr
	for _, l := range w.facts.Links {
		for _, a := range l.Addresses {
			if a.Is6() == v6 {
				list = append(list, a)
			}
		}
	}
	return list
}

// together is the answer for packets that come by different ways. Where some of them get in and
// others do not, it is limited to some hosts. A way of which it is not known, such as multicast, does
// not count beside one that is open.
func (w *ways) together(packets []Packet) reach.Verdict {
	var open, limited, filtered bool
	unknown := reach.Verdict{}
	for _, p := range packets {
		switch v := w.packet(p); {
		case v.Answer == reach.Filtered:
			filtered = true
		case v.Answer == reach.Unknown:
			unknown = v
		case v.Limited:
			limited = true
		default:
			open = true
		}
	}
	switch {
	case open || limited:
		return reach.Verdict{Answer: reach.Reachable, Limited: limited || filtered}
	case unknown.Answer != "":
		return unknown
	default:
		return reach.Verdict{Answer: reach.Filtered}
	}
}

// best is the answer for a socket that takes packets of several families.
func best(all []reach.Verdict) reach.Verdict {
	if len(all) == 0 {
		return reach.Verdict{Answer: reach.Unknown, Why: "this machine has no address that other hosts could use"}
	}
	rank := func(v reach.Verdict) int {
		switch {
		case v.Answer == reach.Reachable && !v.Limited:
			return 3
		case v.Answer == reach.Reachable:
			return 2
		case v.Answer == reach.Unknown:
			return 1
		default:
			return 0
		}
	}
	top := all[0]
	for _, v := range all[1:] {
		if rank(v) > rank(top) {
			top = v
		}
	}
	return top
}

// packet takes one packet through all base chains that see it. All of them have to accept it, and
// what becomes of one that is sent elsewhere is not followed.
func (w *ways) packet(p Packet) reach.Verdict {
	answer := reach.Verdict{Answer: reach.Reachable}
	for _, t := range w.tables {
		for _, base := range t.bases {
			if sees(base, p) {
				answer = both(answer, t.through(base, p).verdict(base.Hook, p))
			}
		}
	}
	return answer
}

// both is the answer of two base chains together. Where each limits, they may choose different hosts.
func both(a, b reach.Verdict) reach.Verdict {
	for _, v := range []reach.Verdict{a, b} {
		if v.Why == whyDiverted {
			return v
		}
	}
	switch {
	case a.Answer == reach.Filtered || b.Answer == reach.Filtered:
		return reach.Verdict{Answer: reach.Filtered}
	case a.Answer == reach.Unknown:
		return a
	case b.Answer == reach.Unknown:
		return b
	case a.Limited && b.Limited:
		return reach.Verdict{Answer: reach.Unknown, Why: whyUndecided}
	case a.Limited:
		return a
	default:
		return b
	}
}

func sees(c *Chain, p Packet) bool {
	return c.Family != "ip" && c.Family != "ip6" || (c.Family == "ip6") == p.V6
}

// verdict is what the outcome of a base chain means. What is dropped before translation may still
// come in under another port.
func (o outcome) verdict(hook Hook, p Packet) reach.Verdict {
	diverted := hook == Translation || hook == Prerouting && p.Translated
	switch {
	case o.dropped == 0, o.accepted&ordinary != 0:
		return reach.Verdict{Answer: reach.Reachable}
	case o.accepted == 0 && hook != Aside && !diverted:
		return reach.Verdict{Answer: reach.Filtered}
	case o.accepted&particular != 0 && o.dropped&ordinary != 0 && hook != Aside:
		return reach.Verdict{Answer: reach.Reachable, Limited: true}
	case diverted:
		return reach.Verdict{Answer: reach.Unknown, Why: whyDiverted}
	default:
		return reach.Verdict{Answer: reach.Unknown, Why: whyUndecided}
	}
}
