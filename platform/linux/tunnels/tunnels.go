// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package tunnels finds what carries the packets between two addresses: kernel tunnels (VXLAN,
// Geneve, GRE, IPIP, WireGuard), IPsec by policy or by interface, processes that hold a TUN or TAP
// device, and what these travel in again; below bridges, bonds and VLANs too.
//
// It looks from the network namespace of the caller. What another namespace does with packets that
// it gets over a veth is not followed; [Reader.Behind] tells which one gets them.
package tunnels

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"

	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
)

const (
	// maxDepth bounds how many tunnels are followed into each other.
	maxDepth = 8
	// maxFound bounds how many tunnels, and maxEnds how many far ends of each, are told. Whoever sends packets to a
	// server that answers everybody is an end of its tunnel, so the latter is as many as connection tracking tells.
	maxFound = 64
	maxEnds  = 4096
)

// A Reader tells it of one moment: what is the same for all connections, and what takes long to find out, because
// it is in the files of all processes, is found out once. It is for one goroutine.
type Reader struct {
	root     string
	proc     procfs.FS
	kernel   kernel
	devices  *devices                   // nil until somebody asks
	programs map[string]sessions.Tunnel // of devices, by interface
	allLinks func() ([]interfaces.Link, error)
	near     func() (map[netip.Addr][]int, error) // interfaces of neighbours
	begun    bool                                 // ends that the program of a tunnel has called go before others

	listed        bool // ipsecPolicies are, or could not be
	ipsecPolicies []netlink.XfrmPolicy
	ipsecErr      error
}

// New returns the Reader that finds processes in the /proc below root; "/" is the live one.
func New(root string) *Reader {
	r := &Reader{root: root, proc: procfs.New(root), kernel: liveKernel(), programs: map[string]sessions.Tunnel{}}
	r.allLinks = sync.OnceValues(func() ([]interfaces.Link, error) { return r.kernel.links() })
	r.near = sync.OnceValues(r.neighbors)
	return r
}

// Carry returns the tunnels that packets between an address of this machine and another host come
// through, each once, outer ones after those in them. An error is beside what was found.
func (r *Reader) Carry(ctx context.Context, c sessions.Connection) ([]sessions.Tunnel, error) {
	links, err := r.allLinks()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	w := walk{Reader: r, ctx: ctx, links: links, seen: map[step]bool{}}
	w.follow(c.Local.Unmap().WithZone(""), c.Remote.Unmap().WithZone(""), 0)
	return w.found, errors.Join(append(w.errs, w.cut(), r.ipsecErr, ctx.Err())...)
}

// cut says that there may be more tunnels.
func (w *walk) cut() error {
	if len(w.found) < maxFound {
		return nil
	}
	return fmt.Errorf("more than %d tunnels are not looked at", maxFound)
}

// A walk follows packets from the inside out.
type walk struct {
	*Reader
	ctx   context.Context
	links []interfaces.Link
	seen  map[step]bool
	found []sessions.Tunnel
	errs  []error
}

// A step is an interface or, with index 0, the policies of IPsec, and where the packets go.
type step struct {
	index  int
	local  netip.Addr
	remote netip.Addr
}

// A leg is one stretch that packets travel: between two addresses, over the next hop.
type leg struct {
	local, remote netip.Addr
	hop           netip.Addr
	depth         int
}

// follow finds the tunnels between two addresses. local is invalid where it is not known.
func (w *walk) follow(local, remote netip.Addr, depth int) {
	if depth > maxDepth || !remote.IsValid() || w.ctx.Err() != nil {
		return
	}
	routes, err := w.kernel.routesTo(remote, local)
	if err != nil {
		routes = nil // nothing leaves for it; what comes in may all the same
	}
	if source, ok := sourceOf(routes); ok && !local.IsValid() {
		local = source
	}
	at := leg{local: local, remote: remote, hop: remote, depth: depth}
	w.ipsec(at, 0)
	for _, l := range w.links {
		if slices.ContainsFunc(l.Addresses, func(p netip.Prefix) bool { return p.Addr() == local }) {
			w.through(l, at)
		}
	}
	for _, r := range routes {
		if l, ok := w.link(r.LinkIndex); ok {
			if gateway, ok := netip.AddrFromSlice(r.Gw); ok {
				at.hop = gateway.Unmap()
			}
			w.through(l, at)
		}
	}
}

func sourceOf(routes []netlink.Route) (netip.Addr, bool) {
	for _, r := range routes {
		if a, ok := netip.AddrFromSlice(r.Src); ok {
			return a.Unmap(), true
		}
	}
	return netip.Addr{}, false
}

func (w *walk) link(index int) (interfaces.Link, bool) {
	at := slices.IndexFunc(w.links, func(l interfaces.Link) bool { return l.Index == index })
	if at < 0 {
		return interfaces.Link{}, false
	}
	return w.links[at], true
}

// stacked are kinds of interfaces that are on another one, Link.Lower.
var stacked = []string{"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"}

// through goes on from an interface that packets come through.
func (w *walk) through(l interfaces.Link, at leg) {
	s := step{l.Index, at.local, at.remote}
	if l.Kind == interfaces.KindTUN { // its program has the same ends, whatever goes there
		s = step{index: l.Index}
	}
	if w.seen[s] || len(w.found) >= maxFound {
		return
	}
	w.seen[s] = true
	switch {
	case l.Kind == interfaces.KindXFRM:
		w.ipsec(at, l.XFRM)
	case l.Tunnel():
		w.tunnel(l, at)
	case l.Kind == "ppp":
		w.add(sessions.Tunnel{Interface: l.Name, Kind: l.Kind, Processes: w.search().ppp})
	case slices.Contains(stacked, l.Kind):
		if lower, ok := w.link(l.Lower); ok {
			w.through(lower, at)
		}
	case l.Kind != "vrf":
		for _, port := range w.ports(l, at) {
			w.through(port, at)
		}
	}
}

// ports returns the interfaces below a bridge, bond or team that packets may come through: the one
// behind which a bridge has learned the next hop, else all. Nothing else is a master. A TAP device
// beside other ports is left out then: it is a virtual machine's, as a rule.
func (w *walk) ports(master interfaces.Link, at leg) []interfaces.Link {
	list := w.portsOf(master)
	if master.Kind != "bridge" || len(list) == 0 {
		return list
	}
	learned := w.forwarding(at.hop)
	behind := slices.DeleteFunc(slices.Clone(list), func(l interfaces.Link) bool {
		return !slices.ContainsFunc(learned, func(n netlink.Neigh) bool { return n.LinkIndex == l.Index })
	})
	if len(behind) > 0 {
		return behind
	}
	if slices.ContainsFunc(list, func(l interfaces.Link) bool { return l.Kind != interfaces.KindTUN }) {
		list = slices.DeleteFunc(list, func(l interfaces.Link) bool { return l.Kind == interfaces.KindTUN })
	}
	return list
}

func (w *walk) portsOf(master interfaces.Link) (list []interfaces.Link) {
	for _, l := range w.links {
		if l.Master == master.Index {
			list = append(list, l)
		}
	}
	return list
}

// tunnel tells one, and follows the packets around its packets.
func (w *walk) tunnel(l interfaces.Link, at leg) {
	t := sessions.Tunnel{Interface: l.Name, Kind: l.Kind}
	local := l.Local
	switch l.Kind {
	case interfaces.KindTUN:
		t = w.program(l)
	case interfaces.KindWireGuard:
		w.wireGuard(&t, l.Index, at.remote)
	case interfaces.KindVXLAN:
		w.vxlan(&t, l, at.hop)
	default:
		if l.Remote.IsValid() {
			t.Addresses = []netip.Addr{l.Remote}
		}
	}
	if l.Port != 0 {
		t.Ports = append(t.Ports, sessions.Port{Protocol: "udp", Number: l.Port})
	} else if protocol := carrierProtocol[l.Kind]; protocol != "" {
		t.Ports = append(t.Ports, sessions.Port{Protocol: protocol})
	}
	w.tell(t, local, at.depth)
}

// carrierProtocol are the protocols of IP (/etc/protocols) of tunnels without ports.
var carrierProtocol = map[string]string{
	"gre": "gre", "gretap": "gre", "erspan": "gre", "ip6gre": "gre", "ip6gretap": "gre", "ip6erspan": "gre",
	"ipip": "ipencap", "sit": "ipv6", "ip6tnl": "ipv6",
}

// tell adds a tunnel and goes on from its far ends. One without any is not known as a whole.
func (w *walk) tell(t sessions.Tunnel, local netip.Addr, depth int) {
	slices.SortFunc(t.Addresses, netip.Addr.Compare)
	t.Addresses = slices.Compact(t.Addresses)
	if len(t.Addresses) == 0 && t.Unknown == "" {
		t.Unknown = "the other end of the tunnel " + title(t.Interface) + " is not known"
	}
	if len(t.Addresses) > maxEnds {
		t.Addresses, t.Unknown = t.Addresses[:maxEnds], fmt.Sprintf("the tunnel %s has more than %d other ends", title(t.Interface), maxEnds)
	}
	if !w.add(t) {
		return
	}
	for _, a := range t.Addresses {
		w.follow(local, a, depth+1)
	}
}

// add keeps a tunnel, once: any number of ends may be reached through the same.
func (w *walk) add(t sessions.Tunnel) bool {
	if slices.ContainsFunc(w.found, func(f sessions.Tunnel) bool { return same(f, t) }) {
		return false
	}
	w.found = append(w.found, t)
	return true
}

func same(a, b sessions.Tunnel) bool {
	return a.Interface == b.Interface && a.Unknown == b.Unknown && slices.Equal(a.Addresses, b.Addresses) && slices.Equal(a.Ports, b.Ports)
}

// title is the name of an interface as it may be shown.
func title(name string) string { return sanitize.Text(name, 15) }
