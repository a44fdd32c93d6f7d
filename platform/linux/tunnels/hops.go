// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"net/netip"

	"github.com/vishvananda/netlink"

	"sentinel/platform/linux/netattr"
)

// A Hop is where packets go next: a neighbour, and the interface that it is behind. To ask for one, that may be 0,
// which leaves it to the zone of the address and to the routes.
type Hop struct {
	Address netip.Addr // invalid where a route leads into an interface without a gateway
	Link    int        // index
}

// Hops lists those of a route. It has none where it leads to a nexthop object and the kernel does not tell where that
// is (RTA_NH_ID).
func Hops(r netlink.Route) (list []Hop, err error) {
	for _, n := range append([]*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via}}, r.MultiPath...) {
		ip := n.Gw
		if via, ok := n.Via.(*netlink.Via); ok { // of the other family
			ip = via.Addr
		}
		a, ok := netip.AddrFromSlice(ip)
		if !ok && len(ip) > 0 {
			err = netattr.ErrFormat
		}
		if hop := (Hop{a.Unmap(), n.LinkIndex}); hop != (Hop{}) {
			list = append(list, hop)
		}
	}
	return list, err
}
