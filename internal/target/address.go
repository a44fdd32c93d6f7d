// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/netip"
	"slices"
)

// Forbidden explains why nothing may be sent to an address that a caller gave,
// directly or by name; "" if it is allowed. Forbidden are addresses that hand out
// credentials or do not belong to one host: link-local addresses, which include the
// metadata services of clouds, multicast, and addresses that no host can have. An
// address that embeds another one (RFC 4291, 6052, 3056, 5214) is judged by that
// one as well, because a router may unwrap it.
func Forbidden(addr netip.Addr) string {
	addr = addr.Unmap()
	switch {
	case !addr.IsValid():
		return "is no address"
	case addr.Zone() != "" || addr.IsLinkLocalUnicast():
		return "is of one link alone, as the metadata services of clouds are"
	case Metadata(addr):
		return "is the metadata service of a cloud"
	case addr.IsUnspecified() || addr.IsMulticast() || within(addr, "0.0.0.0/8", "240.0.0.0/4", "fec0::/10", "2001::/32", "100::/64"):
		return "is not the address of one host"
	}
	for _, inner := range Carried(addr) {
		if inner.IsLoopback() || Forbidden(inner) != "" {
			return "carries " + inner.String() + " inside of it"
		}
	}
	return ""
}

// Own reports whether an address, or one that it embeds, is that of this machine: on loopback, or in
// own, the addresses of its interfaces.
func Own(addr netip.Addr, own []netip.Addr) bool {
	addr = addr.Unmap()
	if addr.IsLoopback() || slices.Contains(own, addr.WithZone("")) {
		return true
	}
	return slices.ContainsFunc(Carried(addr), func(inner netip.Addr) bool { return Own(inner, own) })
}

// Metadata recognizes the services by which clouds configure their machines, at fixed addresses.
func Metadata(addr netip.Addr) bool { return within(addr, metadataNetworks()...) }

// metadataNetworks are those that the clouds document. Of Oracle they are those that its images let out
// (InstanceServices in /etc/iptables/rules.v4): the disk that the machine boots from is at 169.254.0.2, and no
// neighbour gives itself an address of 169.254.0.0/24 (RFC 3927, 2.1). Other disks of Oracle have addresses that
// neighbours may have (169.254.2.0/24 and others); those in use are found in sysfs. Name servers that a cloud
// has among addresses of customers (Alibaba, IBM) are in resolv.conf(5).
func metadataNetworks() []string {
	return []string{
		"169.254.169.254/32", "fe80::a9fe:a9fe/128", // nearly all; OpenStack over IPv6
		"169.254.170.2/32", "169.254.170.23/32", "169.254.169.253/32", "169.254.169.123/32", "169.254.169.249/32", "fd00:ec2::/32", // Amazon: containers, names, time
		"169.254.0.2/32", "169.254.0.3/32", "169.254.0.4/32", "192.0.0.192/32", "fd00:c1::a9fe:a9fe/128", // Oracle: the boot volume, updates
		"168.63.129.16/32",                    // Azure: the host
		"100.100.100.200/32",                  // Alibaba
		"169.254.0.23/32",                     // Tencent
		"169.254.42.42/32", "fd00:42::42/128", // Scaleway
		"fd20:ce::254/128",      // Google
		"fd00:a9fe:a9fe::1/128", // Linode
	}
}

// metadataNames are the names of the same services inside their clouds.
func metadataNames() []string {
	return []string{
		"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
		"metadata.azure.internal", "metadata.azure.com", "metadata.tencentyun.com", "metadata.platformequinix.com",
	}
}

// Carried returns the IPv4 addresses that an IPv6 address may embed, judging by its
// form (RFC 4291, 6052, 3056, 4380, 5214): that of a translator, or of the ends of a tunnel.
func Carried(addr netip.Addr) []netip.Addr {
	if !addr.Is6() || addr == netip.IPv6Loopback() {
		return nil
	}
	b := addr.As16()
	switch {
	case within(addr, "64:ff9b:1::/48"):
		return translated(b)
	case within(addr, "64:ff9b::/96", "::/96", "::ffff:0:0:0/96"):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:]))}
	case within(addr, "2002::/16"):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case within(addr, "2001::/32"): // Teredo: the server, and the client, inverted
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case b[10] == 0x5e && b[11] == 0xfe && b[8]&^2 == 0 && b[9] == 0: // ISATAP, with any prefix
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:]))}
	default:
		return nil
	}
}

// translated returns the IPv4 addresses that local translators (RFC 8215) may
// extract; which one depends on the length of their prefix, 48, 56, 64 or 96 bits
// (RFC 6052, section 2.2). At least three of the four are made of unrelated bits,
// so only metadata services and link-local addresses are kept; the last 32 bits are zero unless they
// are the address.
func translated(b [16]byte) []netip.Addr {
	places := []netip.Addr{
		netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
		netip.AddrFrom4([4]byte(b[9:13])), netip.AddrFrom4([4]byte(b[12:])),
	}
	places = slices.DeleteFunc(places, func(a netip.Addr) bool { return !a.IsLinkLocalUnicast() && !Metadata(a) })
	if b[12] != 0 {
		places = append(places, netip.AddrFrom4([4]byte(b[12:])))
	}
	return places
}

func within(addr netip.Addr, networks ...string) bool {
	return slices.ContainsFunc(networks, func(n string) bool { return netip.MustParsePrefix(n).Contains(addr) })
}
