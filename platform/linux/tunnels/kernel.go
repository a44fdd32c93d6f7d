// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

// A kernel is what is asked about the network. Tests replace the functions.
type kernel struct {
	links     func() ([]interfaces.Link, error)
	routesTo  func(remote, local netip.Addr) ([]netlink.Route, error)
	neighbors func(netlink.Ndmsg) ([]netlink.Neigh, error)
	policies  func() ([]netlink.XfrmPolicy, error)
	// wireGuard returns messages as they are: the library does not know their attributes.
	wireGuard func(index int) ([][]byte, error)
	peers     func(ctx context.Context, ports []uint16) ([]conntrack.Peer, error)
}

func liveKernel() kernel {
	return kernel{
		links: interfaces.List, routesTo: routesTo, neighbors: netlink.NeighListExecute,
		policies: policies, wireGuard: wireGuardDevice, peers: conntrack.Peers,
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

// dumps bounds how often a list is asked for that changes while it is read.
const dumps = 3

// complete repeats a dump as long as something changed while it was read. The library panics where
// an attribute is shorter than the kernel makes it; that is an error.
func complete[T any](ctx context.Context, dump func() ([]T, error)) (list []T, err error) {
	defer func() {
		if r := recover(); r != nil {
			list, err = nil, fmt.Errorf("%w: %v", netattr.ErrFormat, r)
		}
	}()
	for range dumps {
		if list, err = dump(); ctx.Err() != nil || !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return list, errors.Join(err, ctx.Err())
}

// wireGuardDevice asks for an interface with its peers (linux/wireguard.h).
func wireGuardDevice(index int) ([][]byte, error) {
	family, err := netlink.GenlFamilyGet(unix.WG_GENL_NAME)
	if err != nil {
		return nil, err
	}
	ask := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
	ask.AddData(&nl.Genlmsg{Command: unix.WG_CMD_GET_DEVICE, Version: unix.WG_GENL_VERSION})
	ask.AddData(nl.NewRtAttr(unix.WGDEVICE_A_IFINDEX, binary.NativeEndian.AppendUint32(nil, uint32(index))))
	return ask.Execute(unix.NETLINK_GENERIC, 0)
}
