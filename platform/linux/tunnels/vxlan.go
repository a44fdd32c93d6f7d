// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

// vxlan tells where a forwarding entry (bridge-fdb(8)) for the hardware address of the next hop
// leads, else where packets to an unknown one are sent.
func (w *walk) vxlan(t *sessions.Tunnel, l interfaces.Link, hop netip.Addr) {
	t.Addresses = farEnds(slices.DeleteFunc(w.forwarding(hop), func(n netlink.Neigh) bool { return n.LinkIndex != l.Index }))
	if len(t.Addresses) > 0 {
		return
	}
	if l.Remote.IsValid() && !l.Remote.IsMulticast() {
		t.Addresses = append(t.Addresses, l.Remote)
	}
	all, err := w.entries()
	if err != nil {
		t.Unknown = fmt.Sprintf("where the tunnel %s leads cannot be read (%v)", title(l.Name), err)
		return
	}
	t.Addresses = append(t.Addresses, farEnds(slices.DeleteFunc(all, func(n netlink.Neigh) bool { return n.LinkIndex != l.Index }))...)
}

func farEnds(entries []netlink.Neigh) []netip.Addr {
	var list []netip.Addr
	for _, e := range entries {
		if a, ok := netip.AddrFromSlice(e.IP); ok && !a.IsUnspecified() && !a.IsMulticast() {
			list = append(list, a.Unmap())
		}
	}
	return list
}

// entries lists the forwarding entries of all bridges and VXLANs.
func (w *walk) entries() ([]netlink.Neigh, error) {
	return netattr.Complete(w.ctx, func() ([]netlink.Neigh, error) {
		return w.kernel.neighbors(netlink.Ndmsg{Family: unix.AF_BRIDGE})
	})
}

// forwarding lists the forwarding entries for a neighbour, by its hardware address. Where none is
// known, or the neighbour itself, there are none.
func (w *walk) forwarding(hop netip.Addr) []netlink.Neigh {
	family := uint8(unix.AF_INET)
	if hop.Is6() {
		family = unix.AF_INET6
	}
	known, err := netattr.Complete(w.ctx, func() ([]netlink.Neigh, error) { return w.kernel.neighbors(netlink.Ndmsg{Family: family}) })
	if err != nil {
		return nil
	}
	all, err := w.entries()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(e netlink.Neigh) bool {
		return !slices.ContainsFunc(known, func(n netlink.Neigh) bool {
			a, ok := netip.AddrFromSlice(n.IP)
			return ok && a.Unmap() == hop && len(n.HardwareAddr) > 0 && bytes.Equal(n.HardwareAddr, e.HardwareAddr)
		})
	})
}
