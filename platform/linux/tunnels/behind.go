// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

// abroad reports whether the other end of an interface is in another network namespace.
func abroad(l interfaces.Link) bool { return l.Pair() && l.Abroad }

// Behind returns the network namespaces of this machine that packets to a neighbour go to, by the numbers that this
// one has for them; none where the neighbour is another host, or is reached over a router. The route decides, and
// who has a packet come from some address does not.
func (r *Reader) Behind(ctx context.Context, remote netip.Addr) (list []int, err error) {
	links, err := r.allLinks()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	w := walk{Reader: r, ctx: ctx, links: links}
	if !slices.ContainsFunc(links, abroad) {
		return nil, nil
	}
	over, err := r.linksTo(remote)
	for _, index := range over {
		if l, ok := w.link(index); ok {
			found, bad := w.behind(l, remote)
			list, err = append(list, found...), errors.Join(err, bad)
		}
	}
	return list, err
}

// linksTo returns the interfaces that a neighbour is reached over. A link-local address has no other route than
// the interface that the neighbour is known at.
func (r *Reader) linksTo(remote netip.Addr) (list []int, err error) {
	near, err := r.near()
	known := near[remote]
	if len(known) == 0 || remote.IsLinkLocalUnicast() {
		return known, err
	}
	routes, err := r.kernel.routesTo(remote, netip.Addr{})
	if err != nil {
		return nil, fmt.Errorf("find the route: %w", err)
	}
	for _, route := range routes {
		if slices.Contains(known, route.LinkIndex) && len(route.Gw) == 0 && route.Via == nil {
			list = append(list, route.LinkIndex)
		}
	}
	return list, nil
}

// behind looks below an interface. Of the ports of a bridge that counts behind which the bridge has learned the
// neighbour.
func (w *walk) behind(l interfaces.Link, remote netip.Addr) (list []int, err error) {
	switch {
	case abroad(l):
		return []int{l.Namespace}, nil
	case slices.Contains(stacked, l.Kind) && !l.Abroad:
		if lower, ok := w.link(l.Lower); ok && lower.Index < l.Index {
			return w.behind(lower, remote)
		}
	case l.Kind == "bridge":
		return w.behindBridge(l, remote)
	}
	return nil, nil
}

func (w *walk) behindBridge(bridge interfaces.Link, remote netip.Addr) (list []int, err error) {
	ports := w.portsOf(bridge)
	learned := w.forwarding(remote)
	known := false
	for _, l := range ports {
		if !slices.ContainsFunc(learned, func(n netlink.Neigh) bool { return n.LinkIndex == l.Index }) {
			continue
		}
		known = true
		if abroad(l) {
			list = append(list, l.Namespace)
		}
	}
	if !known && len(ports) > 0 && !slices.ContainsFunc(ports, func(l interfaces.Link) bool { return !abroad(l) }) {
		return nil, fmt.Errorf("the bridge %s does not tell behind which port it is", title(bridge.Name))
	}
	return list, nil
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
