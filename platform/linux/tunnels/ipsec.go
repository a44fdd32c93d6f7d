// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/netattr"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
)

// ikePorts are those of IKE and of ESP in UDP (RFC 7296, RFC 3948).
var ikePorts = []uint16{500, 4500}

// ipsec tells the policies that packets between two addresses come under: of those without an
// interface (identifier 0) or of the one with that identifier. What IPsec protects between the
// same two addresses is no tunnel, but the session depends on it all the same.
func (w *walk) ipsec(at leg, id uint32) {
	s := step{-int(id), at.local, at.remote}
	if w.seen[s] || len(w.found) >= maxFound {
		return
	}
	w.seen[s] = true
	t := sessions.Tunnel{Interface: "ipsec", Kind: "ipsec"}
	var local netip.Addr
	for _, p := range w.policies() {
		if uint32(p.Ifid) != id || p.Action != netlink.XFRM_POLICY_ALLOW || p.Mark != nil && p.Mark.Value != 0 {
			continue
		}
		far, near, ok := outerEnds(p, at)
		if !ok {
			continue
		}
		local = near
		t.Addresses = append(t.Addresses, far)
		for _, m := range p.Tmpls {
			t.Ports = append(t.Ports, sessions.Port{Protocol: m.Proto.String()})
		}
	}
	if len(t.Addresses) == 0 {
		if id != 0 {
			w.tell(t, local, at.depth)
		}
		return
	}
	w.keyExchange(&t)
	slices.SortFunc(t.Ports, comparePorts)
	t.Ports = slices.Compact(t.Ports)
	w.tell(t, local, at.depth)
}

// policies are asked for once, for however many ends.
func (w *walk) policies() []netlink.XfrmPolicy {
	if w.listed {
		return w.ipsecPolicies
	}
	w.listed = true
	list, err := netattr.Complete(w.ctx, w.kernel.policies)
	if err != nil {
		w.ipsecErr = fmt.Errorf("list the policies of IPsec: %w", err)
		return nil
	}
	w.ipsecPolicies = list
	return list
}

// outerEnds returns where a policy sends the packets of a leg, or takes them from. Templates without
// addresses leave those of the packets.
func outerEnds(p netlink.XfrmPolicy, at leg) (far, near netip.Addr, ok bool) {
	out := p.Dir == netlink.XFRM_DIR_OUT && covers(p.Src, at.local) && covers(p.Dst, at.remote)
	in := p.Dir == netlink.XFRM_DIR_IN && covers(p.Src, at.remote) && covers(p.Dst, at.local)
	if !out && !in || len(p.Tmpls) == 0 {
		return far, near, false
	}
	m := p.Tmpls[0]
	if in {
		m.Src, m.Dst = m.Dst, m.Src
	}
	far, near = address(m.Dst), address(m.Src)
	if !far.IsValid() {
		far = at.remote
	}
	return far, near, true
}

func address(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if a = a.Unmap(); !ok || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

// covers reports whether a selector is about an address, also about one that is not known.
func covers(n *net.IPNet, a netip.Addr) bool {
	if n == nil {
		return true
	}
	length, bits := n.Mask.Size()
	if !a.IsValid() {
		return length == 0
	}
	return bits == a.BitLen() && n.Contains(a.AsSlice())
}

// keyExchange adds the program that renews the keys, by the ports of IKE.
func (w *walk) keyExchange(t *sessions.Tunnel) {
	makers := map[uint64]int{}
	err := sockdiag.Dump(w.ctx, unix.IPPROTO_UDP, func(s sockdiag.Socket) {
		if s.Inode != 0 && slices.Contains(ikePorts, s.Local.Port()) && procfs.SystemAccount(s.UID) {
			makers[s.Inode] = s.UID
			t.Ports = append(t.Ports, sessions.Port{Protocol: "udp", Number: s.Local.Port()})
		}
	})
	if err != nil {
		w.errs = append(w.errs, err)
	}
	w.hold(t, makers)
}

// hold adds the processes that have the sockets open.
func (w *walk) hold(t *sessions.Tunnel, makers map[uint64]int) {
	owners, err := w.proc.SocketOwners(w.ctx, makers)
	if err != nil && w.ctx.Err() == nil {
		w.errs = append(w.errs, err)
	}
	for _, o := range owners.ByInode {
		t.Processes = append(t.Processes, o.PID)
	}
	slices.Sort(t.Processes)
	t.Processes = slices.Compact(t.Processes)
}

func comparePorts(a, b sessions.Port) int {
	return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Number, b.Number))
}
