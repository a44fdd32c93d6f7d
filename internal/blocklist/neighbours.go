// SPDX-License-Identifier: Apache-2.0

package blocklist

import "net/netip"

// What every backend lets pass before it drops anything, to and from blocked addresses too, are
// types of ICMPv6 between this machine and its own networks alone: neighbour discovery
// (RFC 4861), without which this machine and its routers lose each other, and multicast
// listeners (RFC 2710), since a switch that asks for those and gets no answer stops to deliver
// solicitations (RFC 4541). A router forwards these types as any other (RFC 4890), so what
// comes from elsewhere, or goes on to elsewhere, is told by the header of IPv6.
const (
	ListenersFrom  = 130 // the first type of multicast listeners
	ListenersTo    = 132 // the last one
	NeighboursFrom = 133 // the first type of neighbour discovery
	NeighboursTo   = 137 // the last one

	// NeighbourHops is the hop limit of neighbour discovery (RFC 4861, section 3.1), which a packet
	// that was forwarded cannot have any more.
	NeighbourHops = 255
)

// LinkLocal has the sources of messages about multicast listeners (RFC 2710, section 3; RFC 3810,
// section 5): packets from there are not forwarded (RFC 4291, section 2.5.6).
var LinkLocal = netip.MustParsePrefix("fe80::/10")
