// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"

	"sentinel/internal/fault"
)

// probePorts are those that packets are sent to in thought, to tell a firewall from rules about single ports. No
// service is known by any of them. Most are below 1024: where the others alone are open, a firewall is on.
var probePorts = []uint16{26, 221, 447, 701, 977, 2749, 9413, 21873, 48611}

// maxLinks bounds how many interfaces are tried one by one.
const maxLinks = 64

// standIns are addresses that no host has (RFC 5737, RFC 3849), for an interface that has none of a family, as at boot.
var standIns = map[bool]netip.Addr{false: netip.MustParseAddr("192.0.2.1"), true: netip.MustParseAddr("2001:db8::1")}

// A share says what becomes of packets to most ports.
type share int

const (
	letIn share = iota
	undecided
	dropped
)

// shareOf is what a base chain does with the packets of ordinary hosts. Over one interface, to its address in one
// family, is enough: a firewall need not be on all sides.
func (w *ways) shareOf(t *ruleTable, base *Chain) share {
	most := letIn
	for _, v6 := range []bool{false, true} {
		for _, p := range w.ordinary(v6) {
			if sees(base, p) {
				most = max(most, w.mostPorts(t, base, p))
			}
			if most == dropped {
				return most
			}
		}
	}
	return most
}

// ordinary are packets by each interface to each of its addresses, without a port.
func (w *ways) ordinary(v6 bool) []Packet {
	var list []Packet
	links := slices.DeleteFunc(slices.Clone(w.facts.Links), func(l Link) bool { return l.Inner })
	for _, l := range links[:min(len(links), maxLinks)] {
		to := slices.DeleteFunc(slices.Clone(l.Addresses), func(a netip.Addr) bool { return a.Is6() != v6 })
		if len(to) == 0 {
			to = []netip.Addr{standIns[v6]}
		}
		for _, a := range to[:min(len(to), maxWays)] {
			list = append(list, Packet{Protocol: "tcp", V6: v6, Interface: l.Name, Index: l.Index, To: a})
		}
	}
	if n := len(links); n == 0 || n > maxLinks {
		list = append(list, Packet{Protocol: "tcp", V6: v6, To: standIns[v6]})
	}
	return list
}

func (w *ways) mostPorts(t *ruleTable, base *Chain, p Packet) share {
	var of [dropped + 1]int
	for _, p.Port = range probePorts {
		of[w.shareOfOne(t, base, p)]++
	}
	switch half := len(probePorts) / 2; {
	case of[dropped] > half:
		return dropped
	case of[dropped]+of[undecided] > half:
		return undecided
	default:
		return letIn
	}
}

// shareOfOne walks the chains that may mark a packet only where that matters to base: translation at a node of
// Kubernetes has thousands of rules.
func (w *ways) shareOfOne(t *ruleTable, base *Chain, p Packet) share {
	asSent := t.through(base, p).ofOrdinary()
	if !w.marks {
		return asSent
	}
	worst := p
	worst.Marked, worst.Untracked = w.rules.Marked, w.rules.Untracked
	if t.through(base, worst).ofOrdinary() == asSent {
		return asSent
	}
	return t.through(base, w.marked(p)).ofOrdinary()
}

// marked returns the packet with what rules on its way may have done to it. The order of chains is not known, so
// they are walked until nothing is added.
func (w *ways) marked(p Packet) Packet {
	for {
		before := p
		for _, t := range w.tables {
			for _, base := range t.bases {
				if sees(base, p) {
					after := t.through(base, p).packet
					p.Marked, p.Untracked = after.Marked, after.Untracked
				}
			}
		}
		if p == before {
			return p
		}
	}
}

// ofOrdinary is what becomes of a packet of an ordinary host. An exception that is not understood, in front of a
// drop of all that is left, is still one.
func (o outcome) ofOrdinary() share {
	switch {
	case o.dropped&ordinary != 0, o.last == Drop && o.accepted&ordinary == 0:
		return dropped
	case o.dropped != 0 && o.accepted&ordinary == 0:
		return undecided
	default:
		return letIn
	}
}

// opensMost refuses a manager that would keep nobody out: it would not count as on, and taking it back would stop
// one that runs. The Application Firewall goes by programs, whatever their ports.
func opensMost(name string, rules Rules) error {
	closed := slices.ContainsFunc(probePorts, func(n uint16) bool { return rules.For(Port{n, "tcp"}).Verdict != Open })
	if closed || name == ApplicationFirewall {
		return nil
	}
	return fault.New(fault.FirewallFailed, backendName(name)+" is configured to let in what no rule denies, so that it keeps nobody out.").
		WithFix("Configure it to drop that, with ufw: sudo ufw default deny incoming. With firewalld: sudo firewall-cmd --set-default-zone=public")
}
