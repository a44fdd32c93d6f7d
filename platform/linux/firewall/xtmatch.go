// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
)

// xtMatch is the match of an extension of x_tables, which iptables-nft leaves as it is.
func xtMatch(p firewall.Packet, e *expr.Match) firewall.Match {
	switch info := e.Info.(type) {
	case *xt.Comment:
		return firewall.Always
	case *xt.ConntrackMtinfo1:
		return conntrackMatch(p, info.ConntrackMtinfoBase, uint16(info.StateMask))
	case *xt.ConntrackMtinfo2:
		return conntrackMatch(p, info.ConntrackMtinfoBase, info.StateMask)
	case *xt.ConntrackMtinfo3:
		return conntrackMatch(p, info.ConntrackMtinfoBase, info.StateMask)
	case *xt.AddrTypeV1:
		return addressType(p, info)
	case *xt.Tcp:
		return tcpMatch(p, info)
	case *xt.Udp:
		if p.Protocol != "udp" {
			return firewall.Never
		}
		return invert(sourcePorts(info.SrcPorts[0], info.SrcPorts[1]), info.InvFlags&xt.UdpInvSrcPorts != 0).
			And(invert(portWithin(p, info.DstPorts[0], info.DstPorts[1]), info.InvFlags&xt.UdpInvDestPorts != 0))
	case *xt.Unknown:
		return bytesMatch(p, e.Name, e.Rev, *info)
	default:
		return firewall.Unsure
	}
}

// conntrackMatch understands "--ctstate" alone.
func conntrackMatch(p firewall.Packet, info xt.ConntrackMtinfoBase, mask uint16) firewall.Match {
	if xt.ConntrackFlags(info.MatchFlags)&^xt.ConntrackStateAlias != xt.ConntrackState {
		return firewall.Unsure
	}
	return invert(stateMatch(p, int(mask)), xt.ConntrackFlags(info.InvertFlags)&xt.ConntrackState != 0)
}

// addressType understands what comes without "--limit-iface-in".
func addressType(p firewall.Packet, info *xt.AddrTypeV1) firewall.Match {
	const invertFrom, invertTo, limits = 1, 2, 4 | 8 // XT_ADDRTYPE_INVERT_SOURCE and _DEST, XT_ADDRTYPE_LIMIT_IFACE_IN and _OUT
	if info.Flags&limits != 0 {
		return firewall.Unsure
	}
	m := firewall.Always
	if info.Source != 0 {
		m = invert(usually(info.Source&(1<<typeUnicast) != 0), info.Flags&invertFrom != 0)
	}
	if info.Dest != 0 {
		m = m.And(invert(localMatch(p, int(info.Dest)), info.Flags&invertTo != 0))
	}
	return m
}

func tcpMatch(p firewall.Packet, info *xt.Tcp) firewall.Match {
	if p.Protocol != "tcp" {
		return firewall.Never
	}
	m := invert(sourcePorts(info.SrcPorts[0], info.SrcPorts[1]), info.InvFlags&xt.TcpInvSrcPorts != 0).
		And(invert(portWithin(p, info.DstPorts[0], info.DstPorts[1]), info.InvFlags&xt.TcpInvDestPorts != 0)).
		And(invert(firewall.Is(synFlag&info.FlagsMask == info.FlagsCmp), info.InvFlags&xt.TcpInvFlags != 0))
	if info.Option != 0 {
		m = m.And(firewall.Unsure)
	}
	return m
}

// bytesMatch reads the extensions that the library leaves as bytes.
func bytesMatch(p firewall.Packet, name string, revision uint32, b []byte) firewall.Match {
	switch name {
	case "icmp", "icmp6":
		return firewall.Never
	case "multiport":
		return multiportMatch(p, revision, b)
	case "state":
		if len(b) >= 4 {
			return stateMatch(p, int(binary.NativeEndian.Uint32(b)))
		}
	case "limit":
		return firewall.PerhapsAllBut
	case "recent":
		return recentMatch(b)
	case "rt": // a header that ordinary packets do not have
		return firewall.PerhapsSome
	case "mac": // struct xt_mac_info (include/uapi/linux/netfilter/xt_mac.h): an address, "not"
		if len(b) >= 12 {
			return invert(firewall.PerhapsSome, binary.NativeEndian.Uint32(b[8:]) != 0)
		}
	case "mark", "connmark": // struct xt_mark_mtinfo1, xt_connmark_mtinfo1: a mark, its mask, "not"
		if revision == 1 && len(b) >= 9 && !p.Marked {
			return firewall.Is((binary.NativeEndian.Uint32(b) == 0) == (b[8] == 0))
		}
	case "pkttype": // struct xt_pkttype_info: a type, "not"
		if len(b) >= 8 && p.To.IsValid() {
			return firewall.Is((binary.NativeEndian.Uint32(b) == unix.PACKET_HOST) == (binary.NativeEndian.Uint32(b[4:]) == 0))
		}
	case "connlimit":
		return flagged(b, 20, 1) // struct xt_connlimit_info, XT_CONNLIMIT_INVERT: "upto"
	case "hashlimit":
		if revision == 3 {
			return flagged(b, 272, 1<<4).Not() // struct hashlimit_mtinfo3, XT_HASHLIMIT_INVERT: "above"
		}
	case "set":
		if revision > 0 {
			return ipsetMatch(b)
		}
	case "rpfilter":
		if len(b) > 0 {
			return invert(firewall.PerhapsAllBut, b[0]&(1<<3) != 0) // XT_RPFILTER_INVERT
		}
	}
	return firewall.Unsure
}

// flagged is the match of a limit that is about hosts above it, or those below where a flag says so.
func flagged(b []byte, at int, below uint32) firewall.Match {
	if len(b) < at+4 {
		return firewall.Unsure
	}
	return rate(binary.NativeEndian.Uint32(b[at:])&below == 0)
}

// multiportMatch reads struct xt_multiport_v1 (include/uapi/linux/netfilter/xt_multiport.h): what the
// ports are of, how many, fifteen ports, whether the next is the end of a range, and "not".
func multiportMatch(p firewall.Packet, revision uint32, b []byte) firewall.Match {
	const most, destination, flags, not = 15, 1, 2 + 2*15, 2 + 2*15 + 15
	if revision != 1 || len(b) <= not || b[0] != destination || b[1] > most {
		return firewall.Unsure
	}
	m := firewall.Never
	port := func(i int) uint16 { return binary.NativeEndian.Uint16(b[2+2*i:]) }
	for i := 0; i < int(b[1]); i++ {
		from := port(i)
		if b[flags+i] != 0 && i+1 < int(b[1]) {
			i++
		}
		m = m.Or(portWithin(p, from, port(i)))
	}
	return invert(m, b[not] != 0)
}

// recentMatch reads struct xt_recent_mtinfo (include/uapi/linux/netfilter/xt_recent.h): seconds, hits,
// what is done, "not". To note a host always matches; whether one is noted already depends on it.
func recentMatch(b []byte) firewall.Match {
	const set = 1 << 1
	if len(b) < 10 {
		return firewall.Unsure
	}
	if b[8] == set {
		return invert(firewall.Always, b[9] != 0)
	}
	return invert(firewall.PerhapsSome, b[9] != 0)
}

// ipsetMatch reads struct xt_set_info (include/uapi/linux/netfilter/xt_set.h): an index, dimensions,
// flags. Of a set of senders, an ordinary host is none.
func ipsetMatch(b []byte) firewall.Match {
	const not, bySource = 1 << 0, 1 << 1
	if len(b) < 4 || b[3]&bySource == 0 {
		return firewall.Unsure
	}
	return invert(firewall.PerhapsSome, b[3]&not != 0)
}

// translatedTo is what a target DNAT has for a packet, invalid if it has no address.
func translatedTo(e *expr.Target) netip.AddrPort {
	var r xt.NatRange
	switch info := e.Info.(type) {
	case *xt.NatRange:
		r = *info
	case *xt.NatRange2:
		r = info.NatRange
	case *xt.NatIPv4MultiRangeCompat:
		if len(*info) != 1 {
			return netip.AddrPort{}
		}
		r = xt.NatRange{Flags: (*info)[0].Flags, MinIP: (*info)[0].MinIP, MaxIP: (*info)[0].MaxIP, MinPort: (*info)[0].MinPort, MaxPort: (*info)[0].MaxPort}
	}
	if xt.NatRangeFlags(r.Flags)&xt.NatRangeMapIPs == 0 || !net.IP.Equal(r.MinIP, r.MaxIP) {
		return netip.AddrPort{}
	}
	a, _ := netip.AddrFromSlice(r.MinIP)
	if xt.NatRangeFlags(r.Flags)&xt.NatRangeProtoSpecified == 0 || r.MinPort != r.MaxPort {
		r.MinPort = 0
	}
	return netip.AddrPortFrom(a.Unmap(), r.MinPort)
}
