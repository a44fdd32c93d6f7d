// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/wireguard"
)

// kernel is what is asked about the network. Tests replace the functions.
type kernel struct {
	links     func() ([]interfaces.Link, error)
	routes    func(family int, filter *netlink.Route, mask uint64, visit func(netlink.Route) bool) error
	routesTo  func(net.IP) ([]netlink.Route, error)
	neighbors func(netlink.Ndmsg) ([]netlink.Neigh, error)
	rawRoutes func(visit func([]byte) bool) error
	// nextHops and wireGuard return messages as they are: the library knows
	// neither nexthop objects nor the attributes of WireGuard.
	nextHops  func() ([][]byte, error)
	wireGuard func(index int) ([][]byte, error)
	// translations are the flows that are wanted of those whose destination rules replaced.
	translations func(ctx context.Context, wanted func(conntrack.Translation) bool) ([]conntrack.Translation, error)
	// ask makes the flows to name servers.
	ask func(ctx context.Context, servers []netip.Addr)
}

func liveKernel() kernel {
	return kernel{
		links: interfaces.List, rawRoutes: rawRoutes, routes: netlink.RouteListFilteredIter, routesTo: netlink.RouteGet, neighbors: netlink.NeighListExecute,
		nextHops: nextHopObjects, wireGuard: wireguard.Dump, translations: conntrack.Translations, ask: conntrack.Ask,
	}
}

// nextHopObjects asks for all of them with an empty struct nhmsg (linux/nexthop.h).
func nextHopObjects() ([][]byte, error) {
	ask := nl.NewNetlinkRequest(unix.RTM_GETNEXTHOP, unix.NLM_F_DUMP)
	ask.AddRawData(make([]byte, unix.SizeofNhmsg))
	return ask.Execute(unix.NETLINK_ROUTE, 0)
}
