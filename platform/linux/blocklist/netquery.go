// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

// kernel is what is asked about the network. Tests replace the functions.
type kernel struct {
	links     func() ([]interfaces.Link, error)
	routes    func(family int, filter *netlink.Route, mask uint64, visit func(netlink.Route) bool) error
	routesTo  func(net.IP) ([]netlink.Route, error)
	neighbors func(netlink.Ndmsg) ([]netlink.Neigh, error)
	// nextHops and wireGuard return messages as they are: the library knows
	// neither nexthop objects nor the attributes of WireGuard.
	nextHops  func() ([][]byte, error)
	wireGuard func(index int) ([][]byte, error)
}

func liveKernel() kernel {
	return kernel{
		links: interfaces.List, routes: netlink.RouteListFilteredIter, routesTo: netlink.RouteGet, neighbors: netlink.NeighListExecute,
		nextHops: nextHopObjects, wireGuard: wireGuardDevice,
	}
}

// dumps bounds how often a list is asked for that changes while it is read.
const dumps = 3

// complete repeats a dump as long as something changed while it was read. The
// library panics where an attribute is shorter than the kernel makes it; that is an error.
func complete(ctx context.Context, dump func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", netattr.ErrFormat, r)
		}
	}()
	for range dumps {
		if err = dump(); ctx.Err() != nil || !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return errors.Join(err, ctx.Err())
}

// nextHopObjects asks for all of them with an empty struct nhmsg (linux/nexthop.h).
func nextHopObjects() ([][]byte, error) {
	ask := nl.NewNetlinkRequest(unix.RTM_GETNEXTHOP, unix.NLM_F_DUMP)
	ask.AddRawData(make([]byte, unix.SizeofNhmsg))
	return ask.Execute(unix.NETLINK_ROUTE, 0)
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
