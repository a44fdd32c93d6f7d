// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/wireguard"
)

// A kernel is what is asked about the network. Tests replace the functions.
type kernel struct {
	links     func() ([]interfaces.Link, error)
	routes    func(family int, filter *netlink.Route, mask uint64, visit func(netlink.Route) bool) error
	routesTo  func(remote, local netip.Addr) ([]netlink.Route, error)
	neighbors func(netlink.Ndmsg) ([]netlink.Neigh, error)
	policies  func() ([]netlink.XfrmPolicy, error)
	// wireGuard returns messages as they are: the library does not know their attributes.
	wireGuard func(index int) ([][]byte, error)
	peers     func(ctx context.Context, ports []uint16) ([]conntrack.Peer, error)
}

func liveKernel() kernel {
	return kernel{
		links: interfaces.List, routes: netlink.RouteListFilteredIter, routesTo: routesTo, neighbors: netlink.NeighListExecute,
		policies: policies, wireGuard: wireguard.Dump, peers: conntrack.Peers,
	}
}

// policies asks for each family: the library tells selectors of all addresses apart by what it
// asked for. A kernel without IPsec has none.
func policies() ([]netlink.XfrmPolicy, error) {
	four, err := netlink.XfrmPolicyList(netlink.FAMILY_V4)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	six, err6 := netlink.XfrmPolicyList(netlink.FAMILY_V6)
	return append(four, six...), errors.Join(err, err6)
}

// routesTo asks as a packet from local would, for rules may look at that.
func routesTo(remote, local netip.Addr) ([]netlink.Route, error) {
	if local.IsValid() && local.BitLen() == remote.BitLen() {
		routes, err := netlink.RouteGetWithOptions(remote.AsSlice(), &netlink.RouteGetOptions{SrcAddr: local.AsSlice()})
		if err == nil {
			return routes, nil
		}
	}
	return netlink.RouteGet(remote.AsSlice())
}
