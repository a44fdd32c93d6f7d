// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

// abroad reports whether the other end of an interface is in another network namespace.
func abroad(l interfaces.Link) bool { return l.Pair() && l.Abroad }

// Behind returns the network namespaces of this machine that packets to a neighbour may go to, by the numbers that this
// one has for them, the likeliest first; none where the neighbour is another host, or is reached over a router. The
// route decides, and who has a packet come from some address does not. Which of them has the address is not looked at:
// a bridge forgets behind which port it is, and believes whoever sends with its hardware address.
func (r *Reader) Behind(ctx context.Context, to Hop) (list []int, err error) {
	links, err := r.allLinks()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	w := walk{Reader: r, ctx: ctx, links: links}
	if !slices.ContainsFunc(links, abroad) {
		return nil, nil
	}
	over, err := w.linksTo(to)
	for _, index := range over {
		if l, ok := w.link(index); ok {
			list = append(list, w.behind(l, to.Address.WithZone(""))...)
		}
	}
	return list, err
}

// linksTo returns the interfaces that a neighbour is reached over. A link-local address whose interface is not told
// has no other route than that which the neighbour is known at.
func (w *walk) linksTo(to Hop) (list []int, err error) {
	if to.Link != 0 {
		return []int{to.Link}, nil
	}
	if zone := to.Address.Zone(); zone != "" {
		return w.named(zone), nil
	}
	near, err := w.near()
	known := near[to.Address]
	if len(known) == 0 || to.Address.Is6() && to.Address.IsLinkLocalUnicast() {
		return known, err
	}
	routes, err := w.kernel.routesTo(to.Address, netip.Addr{})
	if err != nil && !unrouted(err) {
		return nil, fmt.Errorf("find the route to %s: %w", to.Address, err)
	}
	for _, route := range routes {
		if slices.Contains(known, route.LinkIndex) && len(route.Gw) == 0 && route.Via == nil {
			list = append(list, route.LinkIndex)
		}
	}
	return list, nil
}

// unrouted reports whether nothing leaves for an address: there is no route, or one of type unreachable, prohibit or
// blackhole (ip-route(8)).
func unrouted(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EACCES, unix.EINVAL}, func(e unix.Errno) bool { return errors.Is(err, e) })
}

// named finds the interface of a zone, which is its name or its number.
func (w *walk) named(zone string) (list []int) {
	for _, l := range w.links {
		if l.Name == zone || strconv.Itoa(l.Index) == zone {
			list = append(list, l.Index)
		}
	}
	return list
}

// behind looks below an interface.
func (w *walk) behind(l interfaces.Link, remote netip.Addr) []int {
	switch {
	case abroad(l):
		return []int{l.Namespace}
	case slices.Contains(stacked, l.Kind) && !l.Abroad:
		if lower, ok := w.link(l.Lower); ok && lower.Index < l.Index {
			return w.behind(lower, remote)
		}
	case l.Kind == "bridge":
		return w.behindBridge(l, remote)
	}
	return nil
}

// behindBridge has those first behind whose port the bridge has learned the neighbour. It is none of them where that
// port is of another kind, or where nothing was learned and the bridge has such a port.
func (w *walk) behindBridge(bridge interfaces.Link, remote netip.Addr) (list []int) {
	ports := w.portsOf(bridge)
	learned := w.forwarding(remote)
	told := slices.DeleteFunc(slices.Clone(ports), func(l interfaces.Link) bool {
		return !slices.ContainsFunc(learned, func(n netlink.Neigh) bool { return n.LinkIndex == l.Index })
	})
	here := func(l interfaces.Link) bool { return !abroad(l) }
	if len(told) == 0 && slices.ContainsFunc(ports, here) || len(told) > 0 && !slices.ContainsFunc(told, abroad) {
		return nil
	}
	for _, l := range slices.Concat(told, ports) {
		if abroad(l) && !slices.Contains(list, l.Namespace) {
			list = append(list, l.Namespace)
		}
	}
	return list
}

// neighbors lists the interfaces at which this machine knows the hardware address of each neighbour, or asks for it.
func (r *Reader) neighbors() (map[netip.Addr][]int, error) {
	all := map[netip.Addr][]int{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		list, err := netattr.Complete(context.Background(), func() ([]netlink.Neigh, error) {
			return r.kernel.neighbors(netlink.Ndmsg{Family: family})
		})
		if err != nil {
			return nil, fmt.Errorf("list neighbours: %w", err)
		}
		for _, n := range list {
			if a, ok := netip.AddrFromSlice(n.IP); ok {
				all[a.Unmap()] = append(all[a.Unmap()], n.LinkIndex)
			}
		}
	}
	return all, nil
}
