// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/internal/vpn"
	"sentinel/platform/linux/links"
)

// A tunnel is an interface whose packets travel inside of others.
type tunnel struct {
	index, master int // master is the bridge that it is a port of, or 0
	name, kind    string
	ends          []netip.Addr // of the packets around
}

// Kinds of interfaces, as IFLA_INFO_KIND has them.
const (
	kindTUN       = "tun" // TAP too: a process carries the packets
	kindVXLAN     = "vxlan"
	kindWireGuard = "wireguard"
)

// remoteOf lists the attributes of IFLA_INFO_DATA that hold the other end, by
// kind (linux/if_link.h, linux/if_tunnel.h). It has no others.
func remoteOf(kind string) (attributes []uint16, known bool) {
	switch kind {
	case kindVXLAN:
		return []uint16{2, 16}, true // IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6
	case "geneve":
		return []uint16{2, 7}, true // IFLA_GENEVE_REMOTE, IFLA_GENEVE_REMOTE6
	case "gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan":
		return []uint16{7}, true // IFLA_GRE_REMOTE
	case "ipip", "sit", "ip6tnl":
		return []uint16{3}, true // IFLA_IPTUN_REMOTE
	case "vti", "vti6":
		return []uint16{5}, true // IFLA_VTI_REMOTE
	case kindTUN, kindWireGuard:
		return nil, true
	}
	return nil, false
}

// carriers lists the other ends of all tunnels of the kernel, and of those of
// programs that a session comes through. Where a session comes through a tunnel and its other
// end is not known, any address might be it, which is an error.
func (s *HostContext) carriers(ctx context.Context, open []login) ([]blocklist.ProtectedAddr, error) {
	tunnels, err := kernelTunnels(ctx)
	if err != nil || len(tunnels) == 0 {
		return nil, err
	}
	through, err := linksOf(open)
	errs := []error{err}
	var list []blocklist.ProtectedAddr
	for _, t := range tunnels {
		used := through[t.index]
		if t.kind == kindTUN && (used || through[t.master]) {
			t.ends, err = s.daemonEnds(ctx, t, used)
			errs = append(errs, err)
		}
		slices.SortFunc(t.ends, netip.Addr.Compare)
		for _, a := range slices.Compact(t.ends) {
			list = append(list, vital(a, "the other end of the tunnel "+sanitize.Text(t.name, 15)))
		}
		if used && len(t.ends) == 0 && err == nil {
			errs = append(errs, fmt.Errorf("the other end of the tunnel %s is not known", sanitize.Text(t.name, 15)))
		}
	}
	return list, errors.Join(errs...)
}

// kernelTunnels lists the tunnels with what the kernel knows about their other
// ends.
func kernelTunnels(ctx context.Context) ([]tunnel, error) {
	tunnels, err := dumped(ctx, unix.RTM_GETLINK, nl.NewIfInfomsg(unix.AF_UNSPEC), parseTunnel)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	if slices.ContainsFunc(tunnels, func(t tunnel) bool { return t.kind == kindVXLAN }) {
		learned, err := dumped(ctx, unix.RTM_GETNEIGH, bridgeEntry{}, parseForwarding)
		if err != nil {
			return nil, fmt.Errorf("list the other ends of VXLAN: %w", err)
		}
		for i, t := range tunnels {
			for _, f := range learned {
				if f.index == t.index && t.kind == kindVXLAN {
					tunnels[i].ends = append(tunnels[i].ends, f.ends...)
				}
			}
		}
	}
	for i, t := range tunnels {
		if t.kind != kindWireGuard {
			continue
		}
		if tunnels[i].ends, err = wireGuardEnds(t.index); err != nil {
			return nil, fmt.Errorf("list the other ends of WireGuard: %w", err)
		}
	}
	return tunnels, nil
}

// Attributes of linux/if_link.h.
const (
	linkName   = 3  // IFLA_IFNAME
	linkMaster = 10 // IFLA_MASTER
	linkInfo   = 18 // IFLA_LINKINFO
	infoKind   = 1  // IFLA_INFO_KIND
	infoData   = 2  // IFLA_INFO_DATA
)

// parseTunnel parses a struct ifinfomsg with its attributes. Interfaces that are
// no tunnels are none.
func parseTunnel(b []byte) ([]tunnel, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return nil, errFormat
	}
	t := tunnel{index: int(int32(binary.NativeEndian.Uint32(b[4:])))}
	var data []byte
	err := attributes(b[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) error {
		switch {
		case kind == linkName:
			t.name = string(bytes.TrimRight(value, "\x00"))
		case kind == linkMaster && len(value) == 4:
			t.master = int(int32(binary.NativeEndian.Uint32(value)))
		case kind == linkInfo:
			return attributes(value, func(kind uint16, value []byte) error {
				switch kind {
				case infoKind:
					t.kind = string(bytes.TrimRight(value, "\x00"))
				case infoData:
					data = value
				}
				return nil
			})
		}
		return nil
	})
	remote, known := remoteOf(t.kind)
	if err != nil || !known {
		return nil, err
	}
	if len(remote) == 0 {
		return []tunnel{t}, nil
	}
	t.ends, err = ends(data, remote...)
	return []tunnel{t}, err
}

// ends collects the addresses that attributes of some kinds hold.
func ends(b []byte, kinds ...uint16) ([]netip.Addr, error) {
	var list []netip.Addr
	err := attributes(b, func(kind uint16, value []byte) error {
		if !slices.Contains(kinds, kind) {
			return nil
		}
		a, ok := netip.AddrFromSlice(value)
		if !ok {
			return errFormat
		}
		if !a.IsUnspecified() {
			list = append(list, a)
		}
		return nil
	})
	return list, err
}

// sizeofNdMsg is that of struct ndmsg (linux/neighbour.h), in bytes.
const sizeofNdMsg = 12

// bridgeEntry is a struct ndmsg that asks for all forwarding entries of bridges
// and VXLAN.
type bridgeEntry struct{}

// Len implements [nl.NetlinkRequestData].
func (bridgeEntry) Len() int { return sizeofNdMsg }

// Serialize implements [nl.NetlinkRequestData].
func (bridgeEntry) Serialize() []byte {
	b := make([]byte, sizeofNdMsg)
	b[0] = unix.AF_BRIDGE
	return b
}

// parseForwarding parses a struct ndmsg with its attributes: which interface
// sends to which other end.
func parseForwarding(b []byte) ([]tunnel, error) {
	if len(b) < sizeofNdMsg {
		return nil, errFormat
	}
	to, err := ends(b[sizeofNdMsg:], unix.NDA_DST)
	if err != nil || b[0] != unix.AF_BRIDGE || len(to) == 0 {
		return nil, err
	}
	return []tunnel{{index: int(int32(binary.NativeEndian.Uint32(b[4:]))), ends: to}}, nil
}

// wireGuardEnds asks for the endpoints of an interface's peers
// (linux/wireguard.h).
func wireGuardEnds(index int) ([]netip.Addr, error) {
	family, err := netlink.GenlFamilyGet(unix.WG_GENL_NAME)
	if err != nil {
		return nil, err
	}
	ask := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
	ask.AddData(&nl.Genlmsg{Command: unix.WG_CMD_GET_DEVICE, Version: unix.WG_GENL_VERSION})
	ask.AddData(nl.NewRtAttr(unix.WGDEVICE_A_IFINDEX, binary.NativeEndian.AppendUint32(nil, uint32(index))))
	replies, err := ask.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, err
	}
	var list []netip.Addr
	for _, b := range replies {
		found, err := parseWireGuard(b)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// parseWireGuard parses a struct genlmsghdr and a device with some of its peers.
// One that has never been heard of has no endpoint.
func parseWireGuard(b []byte) ([]netip.Addr, error) {
	if len(b) < nl.SizeofGenlmsg {
		return nil, errFormat
	}
	var list []netip.Addr
	err := attributes(b[nl.SizeofGenlmsg:], func(kind uint16, peers []byte) error {
		if kind != unix.WGDEVICE_A_PEERS {
			return nil
		}
		return attributes(peers, func(_ uint16, peer []byte) error {
			return attributes(peer, func(kind uint16, value []byte) error {
				if kind != unix.WGPEER_A_ENDPOINT {
					return nil
				}
				a, err := parseSocketAddress(value)
				list = append(list, a)
				return err
			})
		})
	})
	return list, err
}

// parseSocketAddress parses a struct sockaddr_in or sockaddr_in6.
func parseSocketAddress(b []byte) (netip.Addr, error) {
	switch {
	case len(b) >= unix.SizeofSockaddrInet4 && binary.NativeEndian.Uint16(b) == unix.AF_INET:
		return netip.AddrFrom4([4]byte(b[4:8])), nil
	case len(b) >= unix.SizeofSockaddrInet6-4 && binary.NativeEndian.Uint16(b) == unix.AF_INET6:
		return netip.AddrFrom16([16]byte(b[8:24])), nil
	}
	return netip.Addr{}, errFormat
}

// linksOf finds the interfaces that sessions come through: the one that has the
// local address, and the one that packets to the other end leave by.
func linksOf(open []login) (map[int]bool, error) {
	through := map[int]bool{}
	if len(open) == 0 {
		return through, nil
	}
	interfaces, err := links.List()
	for _, o := range open {
		for _, l := range interfaces {
			if slices.ContainsFunc(l.Addresses, func(p netip.Prefix) bool { return p.Addr() == o.local.Unmap().WithZone("") }) {
				through[l.Index] = true
			}
		}
		routes, err := netlink.RouteGet(o.remote.Unmap().WithZone("").AsSlice())
		if err != nil { // then nothing leaves for it
			continue
		}
		for _, r := range routes {
			through[r.LinkIndex] = true
		}
	}
	delete(through, 0) // which stands for no bridge
	return through, err
}

// daemonEnds finds with whom the program talks that carries the packets of t.
// Without required only programs that are known for tunnels count: the ports of a bridge are
// virtual machines too.
func (s *HostContext) daemonEnds(ctx context.Context, t tunnel, required bool) ([]netip.Addr, error) {
	pids, err := s.tunHolders(ctx, t.name)
	if err != nil {
		return nil, err
	}
	if !required {
		pids = slices.DeleteFunc(pids, func(pid int) bool {
			p, err := s.proc.Process(pid)
			return err == nil && !vpn.IsDaemon(p.Name)
		})
	}
	if len(pids) == 0 && !required {
		return nil, nil
	}
	return s.talksWith(ctx, t, pids)
}
