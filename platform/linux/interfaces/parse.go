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
	linkLower     = 5 // IFLA_LINK
	linkMaster    = 10
	linkOperState = 16
	linkInfo      = 18 // IFLA_LINKINFO
	linkNamespace = 37 // IFLA_LINK_NETNSID
	infoKind      = 1
	infoData      = 2
	ifaAddress    = 1
	ifaLocal      = 2
	familyIPv4    = 2
	familyIPv6    = 10
)

// An outer says which attributes of IFLA_INFO_DATA tell where the packets of a tunnel go
// (linux/if_link.h, linux/if_tunnel.h).
type outer struct {
	remote, local []uint16
	port          uint16 // of UDP, in network byte order; 0 where there is none
}

var (
	gre  = outer{remote: []uint16{7}, local: []uint16{6}} // IFLA_GRE_REMOTE, IFLA_GRE_LOCAL
	ipip = outer{remote: []uint16{3}, local: []uint16{2}} // IFLA_IPTUN_REMOTE, IFLA_IPTUN_LOCAL
	vti  = outer{remote: []uint16{5}, local: []uint16{4}} // IFLA_VTI_REMOTE, IFLA_VTI_LOCAL
)

// outers are those of each kind of tunnel. The peers of WireGuard, of IPsec and of a program's
// tunnel are found elsewhere.
var outers = map[string]outer{
	KindVXLAN: {[]uint16{2, 16}, []uint16{4, 17}, 15}, // IFLA_VXLAN_GROUP and GROUP6, LOCAL and LOCAL6, PORT
	"geneve":  {[]uint16{2, 7}, nil, 5},               // IFLA_GENEVE_REMOTE and REMOTE6, PORT
	"gre":     gre, "gretap": gre, "erspan": gre, "ip6gre": gre, "ip6gretap": gre, "ip6erspan": gre,
	"ipip": ipip, "sit": ipip, "ip6tnl": ipip,
	"vti": vti, "vti6": vti,
	KindTUN: {}, KindWireGuard: {}, KindXFRM: {},
}

// Kinds of tunnels whose far ends are found elsewhere, or elsewhere too.
const (
	KindTUN       = "tun" // TAP too: a process carries the packets
	KindVXLAN     = "vxlan"
	KindWireGuard = "wireguard"
	KindXFRM      = "xfrm" // IPsec by a route
)

// xfrmID is IFLA_XFRM_IF_ID.
const xfrmID = 2

// Tunnel reports whether the packets of the interface travel inside others.
func (l Link) Tunnel() bool {
	_, tunnel := outers[l.Kind]
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
		case linkLower:
			l.Lower = int(int32(a.Uint32()))
		case linkMaster:
			l.Master = int(int32(a.Uint32()))
		case linkNamespace:
			l.Abroad, l.Namespace = true, int(int32(a.Uint32()))
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
		switch {
		case a.Type() == infoKind:
			l.Kind = a.String()
		case a.Type() == infoData && l.Tunnel():
			a.Nested(l.parseData)
		}
	}
	return nil
}

func (l *Link) parseData(a *netlink.AttributeDecoder) error {
	about := outers[l.Kind]
	for a.Next() {
		switch kind := a.Type(); {
		case slices.Contains(about.remote, kind):
			a.Do(parseEnd(&l.Remote))
		case slices.Contains(about.local, kind):
			a.Do(parseEnd(&l.Local))
		case about.port != 0 && kind == about.port:
			if b := a.Bytes(); len(b) == 2 {
				l.Port = binary.BigEndian.Uint16(b)
			}
		case l.Kind == KindXFRM && kind == xfrmID:
			l.XFRM = a.Uint32()
		}
	}
	return nil
}

// parseEnd takes one end of a tunnel. The unspecified address stands for none.
func parseEnd(to *netip.Addr) func([]byte) error {
	return func(b []byte) error {
		address, ok := netip.AddrFromSlice(b)
		if !ok {
			return ErrFormat
		}
		if !address.IsUnspecified() {
			*to = address
		}
		return nil
	}
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
