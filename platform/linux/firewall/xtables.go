// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"slices"

	"sentinel/internal/firewall"
)

// What the extensions of x_tables that end or change the way of a packet are called
// (iptables-extensions(8)).
var (
	xtDrops  = []string{"DROP", "REJECT", "TARPIT"}
	xtGoesOn = []string{
		"AUDIT", "CHECKSUM", "CLASSIFY", "CONNMARK", "CONNSECMARK", "CT", "DSCP", "ECN", "HL", "HMARK", "IDLETIMER", "LED", "LOG", "MARK", "NFLOG",
		"NOTRACK", "RATEEST", "SECMARK", "SET", "TCPMSS", "TCPOPTSTRIP", "TEE", "TOS", "TRACE", "TTL", "ULOG",
	}
	xtDiverts = []string{"DNAT", "NETMAP", "NFQUEUE", "QUEUE", "REDIRECT", "SYNPROXY"}
	xtMarks   = []string{"MARK", "CONNMARK", "HMARK"}
)

// xtAction is what a target that is no chain does.
func xtAction(name string) firewall.Action {
	switch {
	case name == "ACCEPT":
		return firewall.Accept
	case name == "RETURN":
		return firewall.Return
	case slices.Contains(xtDrops, name):
		return firewall.Drop
	case slices.Contains(xtGoesOn, name):
		return firewall.GoOn
	default: // DNAT, REDIRECT, TPROXY, NFQUEUE, SYNPROXY and what is not known
		return firewall.Divert
	}
}

func marks(target string) bool { return slices.Contains(xtMarks, target) }

// untracks takes CT for NOTRACK: it can be either that or the choice of a helper.
func untracks(target string) bool { return target == "CT" || target == "NOTRACK" }

// proxies reports whether a target may hand packets to a socket of another port: TPROXY, and what is
// not known.
func proxies(target string) bool {
	return xtAction(target) == firewall.Divert && !slices.Contains(xtDiverts, target)
}

// States of a connection, in the bits of xt_conntrack (include/uapi/linux/netfilter/xt_conntrack.h).
const (
	xtNew        = 1 << 3
	xtTranslated = 1<<6 | 1<<7 // SNAT, DNAT
)

// stateMatch is the match of "--ctstate": of packets that begin a connection.
func stateMatch(p firewall.Packet, mask int) firewall.Match {
	switch {
	case p.Untracked, p.Translated && mask&xtTranslated != 0 && mask&xtNew == 0:
		return firewall.Unsure
	default:
		return firewall.Is(mask&xtNew != 0)
	}
}

// Kinds of addresses in the bits of xt_addrtype (include/uapi/linux/netfilter/xt_addrtype.h).
const xtLocal = 1 << typeLocal

// localMatch is the match of "--dst-type".
func localMatch(p firewall.Packet, mask int) firewall.Match {
	if !p.To.IsValid() {
		return firewall.Unsure
	}
	return firewall.Is(mask&xtLocal != 0)
}

// sourcePorts is the match of a range of source ports, of which each host has its own.
func sourcePorts(from, to uint16) firewall.Match {
	if from == 0 && to == 65535 {
		return firewall.Always
	}
	return usually(from <= ordinaryPort && ordinaryPort <= to)
}

func invert(m firewall.Match, not bool) firewall.Match {
	if not {
		return m.Not()
	}
	return m
}

func portWithin(p firewall.Packet, from, to uint16) firewall.Match {
	if p.AnyPort {
		return firewall.Unsure
	}
	return within(p.Port, from, to)
}

func within(n, from, to uint16) firewall.Match { return firewall.Is(from <= n && n <= to) }

// Kinds of addresses, as routes have them (RTN_* in include/uapi/linux/rtnetlink.h).
const (
	typeUnicast = 1
	typeLocal   = 2
)

// ordinaryPort is a source port that all systems give to clients (RFC 6335, section 6).
const ordinaryPort = 50_000

// synFlag is what the first packet of a TCP connection has set (RFC 9293, section 3.1).
const synFlag = 0x02

// usually is the match of what is so, or not, for an ordinary host; others may differ.
func usually(yes bool) firewall.Match {
	if yes {
		return firewall.PerhapsAllBut
	}
	return firewall.PerhapsSome
}
