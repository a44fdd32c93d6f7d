// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/netip"
	"slices"
)

// Forbidden says why nothing may be sent to an address that a caller named,
// directly or by a name that leads there; empty where it may. What is meant are addresses that
// hand out credentials or reach nobody in particular: those of one link, among them the
// metadata services of clouds, multicast, and addresses that are no host's. An address that
// carries another one inside of it (RFC 4291, 6052, 3056, 5214) is judged by that as well,
// because some router may unwrap it.
func Forbidden(addr netip.Addr) string {
	addr = addr.Unmap()
	switch {
	case !addr.IsValid():
		return "is no address"
	case addr.Zone() != "" || addr.IsLinkLocalUnicast():
		return "is of one link alone, as the metadata services of clouds are"
	case slices.Contains(metadataAddresses(), addr.String()):
		return "is the metadata service of a cloud"
	case addr.IsUnspecified() || addr.IsMulticast() || within(addr, "0.0.0.0/8", "240.0.0.0/4", "fec0::/10", "2001::/32", "100::/64"):
		return "is not the address of one host"
	}
	inner, wrapped := carried(addr)
	if !wrapped {
		return ""
	}
	if inner.IsLoopback() || Forbidden(inner) != "" {
		return "carries " + inner.String() + " inside of it"
	}
	return ""
}

// metadataAddresses are those of metadata services that are not of one link:
// Amazon (IPv6), Google (IPv6), Alibaba, Oracle, and the host of Azure's.
func metadataAddresses() []string {
	return []string{"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"}
}

// metadataNames are the names by which the same services are known inside of
// their clouds.
func metadataNames() []string {
	return []string{
		"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
		"metadata.azure.internal", "metadata.azure.com", "metadata.tencentyun.com", "metadata.platformequinix.com",
	}
}

// carried returns the IPv4 address inside of an IPv6 address, where it has the
// form of one that carries another.
func carried(addr netip.Addr) (inner netip.Addr, wrapped bool) {
	if !addr.Is6() || addr == netip.IPv6Loopback() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case within(addr, "64:ff9b::/96", "64:ff9b:1::/48", "::/96"):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case within(addr, "2002::/16"):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case b[10] == 0x5e && b[11] == 0xfe && b[8]&^2 == 0 && b[9] == 0: // ISATAP, whatever its prefix
		return netip.AddrFrom4([4]byte(b[12:])), true
	default:
		return netip.Addr{}, false
	}
}

func within(addr netip.Addr, networks ...string) bool {
	return slices.ContainsFunc(networks, func(n string) bool { return netip.MustParsePrefix(n).Contains(addr) })
}
