// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
	"sentinel/platform/linux/resolvconf"
)

// Widest is the longest prefix of a route that leads to the rest of the world: that is written as the default, as
// its two halves, as 2000::/3, or in pieces that leave out what is near.
const Widest = 3

// Out returns the tunnels by which this machine reaches the rest of the world, whoever is logged in: those of its
// default routes in all tables, and of the way to its name servers. Of the program of a tunnel, only what root or an
// account of the system runs in this network counts, and of its other ends those that it has called, if there are
// any: who else talks with it would be as good as the way out. Nor does an entry of VXLAN count that a packet made.
func (r *Reader) Out(ctx context.Context) ([]sessions.Tunnel, error) {
	links, err := r.allLinks()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	if !slices.ContainsFunc(links, func(l interfaces.Link) bool { return l.Tunnel() || l.Kind == "ppp" }) && !r.hasPolicies(ctx) {
		return nil, errors.Join(r.ipsecErr, ctx.Err())
	}
	w := walk{Reader: r.outward(), ctx: ctx, links: links, seen: map[step]bool{}}
	routes, err := w.wide()
	for _, route := range routes {
		w.leave(route)
	}
	servers, unread := resolvconf.Here(r.root)
	for _, server := range servers {
		w.follow(netip.Addr{}, server.Unmap().WithZone(""), 0)
	}
	cut := w.cut()
	found := slices.DeleteFunc(w.found, func(t sessions.Tunnel) bool { return t.Kind == interfaces.KindTUN && !w.ofSystem(t) })
	for i := range found {
		w.dropProxied(&found[i])
	}
	return found, errors.Join(append(w.errs, cut, err, unread, r.ipsecErr, ctx.Err())...)
}

// dropProxied drops the ends that packets of anybody here would reach through the tunnel itself. Its program may have
// called them for others, as a proxy does for any user. The other end of a VPN has a route past it, which root makes.
func (w *walk) dropProxied(t *sessions.Tunnel) {
	if t.Kind != interfaces.KindTUN {
		return
	}
	proxied := func(a netip.Addr) bool {
		routes, err := w.kernel.routesTo(a, netip.Addr{})
		return err == nil && slices.ContainsFunc(routes, func(r netlink.Route) bool {
			l, ok := w.link(r.LinkIndex)
			return ok && l.Name == t.Interface
		})
	}
	before := len(t.Addresses)
	if t.Addresses = slices.DeleteFunc(t.Addresses, proxied); len(t.Addresses) < before && t.Unknown == "" {
		t.Unknown = "its program may call hosts for others, as a proxy does"
	}
}

// hasPolicies reports whether IPsec may need no interface.
func (r *Reader) hasPolicies(ctx context.Context) bool {
	return len((&walk{Reader: r, ctx: ctx}).policies()) > 0
}

// outward is a Reader that counts less as an end of a tunnel, and so has what was found to itself.
func (r *Reader) outward() *Reader {
	own := *r
	own.programs, own.begun = map[string]sessions.Tunnel{}, true
	own.kernel.neighbors = func(m netlink.Ndmsg) ([]netlink.Neigh, error) {
		list, err := r.kernel.neighbors(m)
		if m.Family == unix.AF_BRIDGE {
			list = slices.DeleteFunc(list, Learned)
		}
		return list, err
	}
	return &own
}

// Learned reports whether a packet made a forwarding entry: anybody can send one, from any address (RFC 7348,
// section 7).
func Learned(e netlink.Neigh) bool {
	return e.State&(unix.NUD_PERMANENT|unix.NUD_NOARP) == 0 && e.Flags&unix.NTF_EXT_LEARNED == 0
}

// ofSystem reports whether a program of the system holds the device of a tunnel here. Root alone gives a device a
// route, and may have given it to a user, whose program is ended by whoever may end others of theirs.
func (w *walk) ofSystem(t sessions.Tunnel) bool {
	return slices.ContainsFunc(w.search().holders[t.Interface], func(h holder) bool { return h.here && h.system })
}

// Gateways lists those of the routes to the rest of the world, in all tables, and of the ways that connections take. One
// in a nexthop object that the kernel shows as such is missing.
func (r *Reader) Gateways(ctx context.Context, ways []sessions.Connection) (list []Hop, err error) {
	w := &walk{Reader: r, ctx: ctx}
	routes, err := w.wide()
	taken, unread := w.taken(ways)
	err = errors.Join(err, unread)
	for _, route := range slices.Concat(routes, taken) {
		hops, bad := Hops(route)
		err = errors.Join(err, bad)
		for _, hop := range hops {
			if hop.Address.IsValid() && !slices.Contains(list, hop) {
				list = append(list, hop)
			}
		}
	}
	return list, err
}

// taken lists the routes that connections take.
func (w *walk) taken(ways []sessions.Connection) (list []netlink.Route, err error) {
	for _, c := range ways {
		if w.ctx.Err() != nil {
			return list, w.ctx.Err()
		}
		routes, bad := w.kernel.routesTo(c.Remote.Unmap().WithZone(""), c.Local.Unmap().WithZone(""))
		if bad != nil && !unrouted(bad) {
			err = errors.Join(err, fmt.Errorf("find the route to %s: %w", c.Remote, bad))
		}
		list = append(list, routes...)
	}
	return list, err
}

// wide lists the routes to the rest of the world. A router has a million others.
func (w *walk) wide() ([]netlink.Route, error) {
	return netattr.Complete(w.ctx, func() (list []netlink.Route, err error) {
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			err = errors.Join(err, w.kernel.routes(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE, func(r netlink.Route) bool {
				if r.Type == unix.RTN_UNICAST && r.Dst != nil && length(r.Dst) <= Widest {
					list = append(list, r)
				}
				return w.ctx.Err() == nil
			}))
		}
		return list, err
	})
}

func length(n *net.IPNet) int {
	ones, _ := n.Mask.Size()
	return ones
}

// leave goes on from the interfaces of a route. Where they are in a nexthop object, the kernel is asked for them.
func (w *walk) leave(r netlink.Route) {
	at, ok := within(r.Dst)
	if !ok {
		w.errs = append(w.errs, netattr.ErrFormat)
		return
	}
	source, _ := netip.AddrFromSlice(r.Src)
	way := leg{local: source.Unmap(), remote: at}
	w.ipsec(way, 0)
	hops, err := Hops(r)
	if err != nil {
		w.errs = append(w.errs, err)
	}
	if len(hops) == 0 {
		w.follow(way.local, at, 0)
	}
	for _, hop := range hops {
		if way.hop = hop.Address; !way.hop.IsValid() {
			way.hop = at
		}
		if l, ok := w.link(hop.Link); ok {
			w.through(l, way)
		}
	}
}

// within returns an address that a route leads to.
func within(n *net.IPNet) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(n.IP)
	if _, bits := n.Mask.Size(); bits == 32 {
		a = a.Unmap()
	}
	return a.Next(), ok
}
