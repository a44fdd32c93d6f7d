// SPDX-License-Identifier: Apache-2.0

package blocklist

// NeighboursFrom and NeighboursTo bound the types of ICMPv6 that every backend lets
// pass before it drops anything, to and from blocked addresses too: neighbour discovery
// (133 to 137, RFC 4861), without which this machine and its routers lose each other, and
// multicast listeners (130 to 132, RFC 2710), since a switch that asks for those and gets no
// answer stops to deliver solicitations (RFC 4541). No message of these types is forwarded,
// so none comes from another network.
const (
	NeighboursFrom = 130
	NeighboursTo   = 137
)
