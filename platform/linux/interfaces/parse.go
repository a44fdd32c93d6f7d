// SPDX-License-Identifier: Apache-2.0

package interfaces

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
)

// Types and lengths of linux/netlink.h, linux/rtnetlink.h and linux/if_link.h.
const (
	routeProtocol = 0 // NETLINK_ROUTE
	newLink       = 16
	getLink       = 18
	newAddress    = 20
	getAddress    = 22
	linkLen       = 16 // struct ifinfomsg
	addressLen    = 8  // struct ifaddrmsg
	linkAddress   = 1  // IFLA_ADDRESS
	linkName      = 3  // IFLA_IFNAME
	linkMTU       = 4
	linkMaster    = 10
	linkOperState = 16
	linkInfo      = 18 // IFLA_LINKINFO
	infoKind      = 1
	infoData      = 2
	ifaAddress    = 1
	ifaLocal      = 2
	familyIPv4    = 2
	familyIPv6    = 10
)

// remotes lists, for each kind of tunnel, the attributes of IFLA_INFO_DATA that
// hold the far end (linux/if_link.h, linux/if_tunnel.h). The peers of WireGuard and of a
// program's tunnel are not among them.
var remotes = map[string][]uint16{
	"vxlan":  {2, 16},                                                                              // IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6
	"geneve": {2, 7},                                                                               // IFLA_GENEVE_REMOTE, IFLA_GENEVE_REMOTE6
	"gre":    {7}, "gretap": {7}, "erspan": {7}, "ip6gre": {7}, "ip6gretap": {7}, "ip6erspan": {7}, // IFLA_GRE_REMOTE
	"ipip": {3}, "sit": {3}, "ip6tnl": {3}, // IFLA_IPTUN_REMOTE
	"vti": {5}, "vti6": {5}, // IFLA_VTI_REMOTE
	KindTUN: nil, KindWireGuard: nil,
}

// Kinds of tunnels whose far ends are found elsewhere, or elsewhere too.
const (
	KindTUN       = "tun" // TAP too: a process carries the packets
	KindVXLAN     = "vxlan"
	KindWireGuard = "wireguard"
)

// Tunnel reports whether the packets of the interface travel inside others.
func (l Link) Tunnel() bool {
	_, tunnel := remotes[l.Kind]
	return tunnel
}

// parseLink parses a struct ifinfomsg with its attributes.
func parseLink(b []byte) (Link, error) {
	if len(b) < linkLen {
		return Link{}, ErrFormat
	}
	l := Link{
		Index: int(int32(binary.NativeEndian.Uint32(b[4:8]))),
		Flags: binary.NativeEndian.Uint32(b[8:12]),
	}
	a, err := netlink.NewAttributeDecoder(b[linkLen:])
	if err != nil {
		return l, malformed(err)
	}
	for a.Next() {
		switch a.Type() {
		case linkName:
			l.Name = a.String()
		case linkAddress:
			l.MAC = a.Bytes()
		case linkMTU:
			l.MTU = a.Uint32()
		case linkMaster:
			l.Master = int(int32(a.Uint32()))
		case linkOperState:
			l.OperState = a.Uint8()
		case linkInfo:
			a.Nested(l.parseInfo)
		}
	}
	return l, malformed(a.Err())
}

// parseInfo reads what the driver of a virtual interface says about it: the kind,
// and after it what depends on the kind.
func (l *Link) parseInfo(a *netlink.AttributeDecoder) error {
	for a.Next() {
		switch holdsRemote := remotes[l.Kind]; {
		case a.Type() == infoKind:
			l.Kind = a.String()
		case a.Type() == infoData && len(holdsRemote) > 0:
			a.Nested(func(data *netlink.AttributeDecoder) error {
				for data.Next() {
					if slices.Contains(holdsRemote, data.Type()) {
						data.Do(l.parseRemote)
					}
				}
				return nil
			})
		}
	}
	return nil
}

// parseRemote takes the far end of a tunnel. The unspecified address stands for
// none.
func (l *Link) parseRemote(b []byte) error {
	address, ok := netip.AddrFromSlice(b)
	if !ok {
		return ErrFormat
	}
	if !address.IsUnspecified() {
		l.Remote = address
	}
	return nil
}

// parseAddress parses a struct ifaddrmsg with its attributes. It takes the local
// address where there is one: on a point-to-point link the other attribute is the far end.
func parseAddress(b []byte) (int, netip.Prefix, error) {
	if len(b) < addressLen {
		return 0, netip.Prefix{}, ErrFormat
	}
	index := int(int32(binary.NativeEndian.Uint32(b[4:8])))
	a, err := netlink.NewAttributeDecoder(b[addressLen:])
	if err != nil {
		return 0, netip.Prefix{}, malformed(err)
	}
	var local, other []byte
	for a.Next() {
		switch a.Type() {
		case ifaLocal:
			local = a.Bytes()
		case ifaAddress:
			other = a.Bytes()
		}
	}
	if err := malformed(a.Err()); err != nil || b[0] != familyIPv4 && b[0] != familyIPv6 {
		return index, netip.Prefix{}, err
	}
	if local == nil {
		local = other
	}
	address, ok := netip.AddrFromSlice(local)
	prefix := netip.PrefixFrom(address, int(b[1]))
	if !ok || !prefix.IsValid() {
		return index, netip.Prefix{}, ErrFormat
	}
	return index, prefix, nil
}

// malformed marks what the decoder of attributes could not make sense of.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}
