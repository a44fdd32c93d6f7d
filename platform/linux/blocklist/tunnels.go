// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
	"sentinel/platform/linux/tunnels"
	"sentinel/platform/linux/wireguard"
)

// A tunnel is an interface whose packets travel inside others.
type tunnel struct {
	interfaces.Link
	ends []netip.Addr // far ends, which the packets around them go to
}

// title is the name as it may be shown.
func (t tunnel) title() string { return sanitize.Text(t.Name, 15) }

// tunnelEnds lists the far ends of all tunnels of the kernel, whoever comes through them.
func (s *HostContext) tunnelEnds(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	links, err := s.kernel.links()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	all, err := s.tunnels(ctx, links)
	if err != nil {
		return nil, err
	}
	var list []blocklist.ProtectedAddr
	for _, t := range all {
		slices.SortFunc(t.ends, netip.Addr.Compare)
		for _, a := range slices.Compact(t.ends) {
			list = append(list, blocklist.Protect(a, "the other end of the tunnel "+t.title()))
		}
	}
	return list, nil
}

// waysOut lists the far ends of the tunnels by which this machine reaches the rest of the world, also
// those that a program holds.
func (s *HostContext) waysOut(ctx context.Context) (list []blocklist.ProtectedAddr, err error) {
	found, err := s.out(ctx)
	for _, t := range found {
		name := sanitize.Text(t.Interface, 15)
		for _, a := range t.Addresses {
			list = append(list, blocklist.Protect(a, "the other end of the tunnel "+name+", by which this machine reaches others"))
		}
		if t.Unknown != "" && (len(t.Addresses) > 0 || !s.routesName(ctx, t.Interface)) {
			list = append(list, blocklist.ProtectedAddr{Unseen: "this machine reaches others by the tunnel " + name + ", and " + t.Unknown})
		}
	}
	return list, err
}

// tunnels picks the tunnels from the interfaces and adds what else the kernel knows
// about their far ends.
func (s *HostContext) tunnels(ctx context.Context, links []interfaces.Link) ([]tunnel, error) {
	var list []tunnel
	for _, l := range links {
		if !l.Tunnel() {
			continue
		}
		t := tunnel{Link: l}
		if l.Remote.IsValid() {
			t.ends = append(t.ends, l.Remote)
		}
		list = append(list, t)
	}
	if err := s.addForwarding(ctx, list); err != nil {
		return nil, fmt.Errorf("list the other ends of VXLAN: %w", err)
	}
	for i, t := range list {
		if t.Kind != interfaces.KindWireGuard {
			continue
		}
		peers, err := s.wireGuardPeers(t.Index)
		if err != nil {
			return nil, fmt.Errorf("list the other ends of WireGuard: %w", err)
		}
		list[i].ends = peers
	}
	return list, nil
}

// addForwarding adds to the tunnels of VXLAN where their forwarding entries
// (bridge-fdb(8)) lead, as far as the system was told them: where a session goes by one that
// a packet made, it is among what carries that.
func (s *HostContext) addForwarding(ctx context.Context, list []tunnel) error {
	isVXLAN := func(t tunnel) bool { return t.Kind == interfaces.KindVXLAN }
	if !slices.ContainsFunc(list, isVXLAN) {
		return nil
	}
	entries, err := netattr.Complete(ctx, func() ([]netlink.Neigh, error) {
		return s.kernel.neighbors(netlink.Ndmsg{Family: unix.AF_BRIDGE})
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		i := slices.IndexFunc(list, func(t tunnel) bool { return isVXLAN(t) && t.Index == e.LinkIndex })
		if i < 0 || len(e.IP) == 0 || tunnels.Learned(e) {
			continue
		}
		a, ok := netip.AddrFromSlice(e.IP)
		if !ok {
			return netattr.ErrFormat
		}
		if !a.IsUnspecified() {
			list[i].ends = append(list[i].ends, a)
		}
	}
	return nil
}

// wireGuardPeers asks for the endpoints of an interface's peers. A peer that has
// never been heard of has none.
func (s *HostContext) wireGuardPeers(index int) ([]netip.Addr, error) {
	messages, err := s.kernel.wireGuard(index)
	if err != nil {
		return nil, err
	}
	d, err := wireguard.Parse(messages)
	if err != nil {
		return nil, err
	}
	var list []netip.Addr
	for _, p := range d.Peers {
		if p.Endpoint.IsValid() {
			list = append(list, p.Endpoint)
		}
	}
	return list, nil
}
