// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/tunnels"
)

// playTunnels makes tunnels of every kind in a virtual machine, and prints what carries packets.
func playTunnels(_ *bufio.Scanner, out io.Writer) error {
	if err := errors.Join(makeTunnels(), makeWireGuardPeers(), makePolicy()); err != nil {
		return err
	}
	fmt.Fprintln(out, "\n== tunnels")
	for _, c := range [][2]string{
		{"10.8.0.1", "10.8.0.2"}, {"10.8.0.1", "10.8.7.9"}, {"10.8.0.1", "10.8.6.9"}, {"10.1.0.1", "10.1.0.2"}, {"10.2.0.1", "10.2.0.2"}, {"10.3.0.1", "10.3.0.2"},
		{"10.4.0.1", "10.4.0.2"}, {"10.5.0.1", "10.5.0.2"}, {"10.6.0.1", "10.6.0.2"}, {"10.7.0.1", "10.7.0.2"}, {"192.0.2.1", "192.0.2.50"},
	} {
		found, err := tunnels.New("/").Carry(context.Background(), sessions.Connection{Local: netip.MustParseAddr(c[0]), Remote: netip.MustParseAddr(c[1])})
		if err != nil {
			return err
		}
		var parts []string
		for _, f := range found {
			var ports []string
			for _, p := range f.Ports {
				ports = append(ports, fmt.Sprintf("%s/%d", p.Protocol, p.Number))
			}
			part := fmt.Sprintf("%s %s %v %v", f.Interface, f.Kind, f.Addresses, ports)
			if f.Unknown != "" {
				part += ", " + f.Unknown
			}
			parts = append(parts, part)
		}
		if parts == nil {
			parts = []string{"nothing"}
		}
		fmt.Fprintf(out, "%s: %s\n", c[1], strings.Join(parts, "; "))
	}
	return nil
}

func makeTunnels() error {
	named := func(name string) netlink.LinkAttrs {
		a := netlink.NewLinkAttrs()
		a.Name = name
		return a
	}
	here := net.IP{192, 0, 2, 1}
	vlan := named("vl1")
	for _, made := range []struct {
		link    netlink.Link
		address string
	}{
		{&netlink.Dummy{LinkAttrs: named("d0")}, "192.0.2.1/24"},
		{&netlink.Wireguard{LinkAttrs: named("wg0")}, "10.8.0.1/16"},
		{&netlink.Gretun{LinkAttrs: named("g1"), Local: here, Remote: net.IP{192, 0, 2, 9}}, "10.1.0.1/24"},
		{&netlink.Gretap{LinkAttrs: named("gt1"), Local: here, Remote: net.IP{192, 0, 2, 8}}, "10.2.0.1/24"},
		{&netlink.Iptun{LinkAttrs: named("ip1"), Local: here, Remote: net.IP{192, 0, 2, 7}}, "10.3.0.1/24"},
		{&netlink.Geneve{LinkAttrs: named("gn1"), ID: 7, Remote: net.IP{192, 0, 2, 6}, Dport: 6081}, "10.4.0.1/24"},
		{&netlink.Vxlan{LinkAttrs: named("vx1"), VxlanId: 5, Group: net.IP{10, 8, 7, 7}, Port: 4789}, "10.5.0.1/24"},
		{&netlink.Vlan{LinkAttrs: vlan, VlanId: 3}, "10.6.0.1/24"},
		{&netlink.Xfrmi{LinkAttrs: named("ipsec0"), Ifid: 7}, "10.7.0.1/24"},
	} {
		if v, ok := made.link.(*netlink.Vlan); ok {
			below, err := netlink.LinkByName("gn1")
			if err != nil {
				return err
			}
			v.ParentIndex = below.Attrs().Index
		}
		address, err := netlink.ParseAddr(made.address)
		if err != nil {
			return err
		}
		if err := netlink.LinkAdd(made.link); err != nil {
			return fmt.Errorf("%s: %w", made.link.Attrs().Name, err)
		}
		if err := errors.Join(netlink.AddrAdd(made.link, address), netlink.LinkSetUp(made.link)); err != nil {
			return fmt.Errorf("%s: %w", made.link.Attrs().Name, err)
		}
	}
	return nil
}

func makePolicy() error {
	all := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	return netlink.XfrmPolicyAdd(&netlink.XfrmPolicy{
		Src: all, Dst: all, Dir: netlink.XFRM_DIR_OUT, Ifid: 7,
		Tmpls: []netlink.XfrmPolicyTmpl{{Src: net.IP{192, 0, 2, 1}, Dst: net.IP{192, 0, 2, 5}, Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL}},
	})
}

// makeWireGuardPeers gives wg0 three peers, one of them with more addresses behind it than one
// message holds.
func makeWireGuardPeers() error {
	var many []string
	for i := range 400 {
		many = append(many, fmt.Sprintf("2001:db8:%x::/48", i))
	}
	device, err := netlink.LinkByName("wg0")
	if err != nil {
		return err
	}
	family, err := netlink.GenlFamilyGet(unix.WG_GENL_NAME)
	if err != nil {
		return err
	}
	ask := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
	ask.AddData(&nl.Genlmsg{Command: unix.WG_CMD_SET_DEVICE, Version: unix.WG_GENL_VERSION})
	ask.AddRawData(attribute(unix.WGDEVICE_A_IFINDEX, binary.NativeEndian.AppendUint32(nil, uint32(device.Attrs().Index))))
	ask.AddRawData(attribute(unix.WGDEVICE_A_PRIVATE_KEY, append(make([]byte, 31), 64)))
	ask.AddRawData(attribute(unix.WGDEVICE_A_LISTEN_PORT, binary.NativeEndian.AppendUint16(nil, 51820)))
	ask.AddRawData(attribute(unix.WGDEVICE_A_PEERS|unix.NLA_F_NESTED,
		wireGuardPeer('a', "192.0.2.9", "10.8.0.0/16"), wireGuardPeer('b', "2001:db8::9", append(many, "10.8.7.0/24")...), wireGuardPeer('c', "", "10.8.6.0/24")))
	_, err = ask.Execute(unix.NETLINK_GENERIC, 0)
	return err
}

func wireGuardPeer(key byte, endpoint string, allowed ...string) []byte {
	parts := [][]byte{attribute(unix.WGPEER_A_PUBLIC_KEY, append([]byte{key}, make([]byte, 31)...))}
	if a, err := netip.ParseAddr(endpoint); err == nil && a.Is4() {
		parts = append(parts, attribute(unix.WGPEER_A_ENDPOINT, binary.NativeEndian.AppendUint16(nil, unix.AF_INET), []byte{0x12, 0x34}, a.AsSlice(), make([]byte, 8)))
	} else if err == nil {
		parts = append(parts, attribute(unix.WGPEER_A_ENDPOINT, binary.NativeEndian.AppendUint16(nil, unix.AF_INET6), []byte{0x12, 0x34, 0, 0, 0, 0}, a.AsSlice(), make([]byte, 4)))
	}
	var list []byte
	for _, text := range allowed {
		p := netip.MustParsePrefix(text)
		family := uint16(unix.AF_INET)
		if p.Addr().Is6() {
			family = unix.AF_INET6
		}
		list = append(list, attribute(unix.NLA_F_NESTED, attribute(unix.WGALLOWEDIP_A_FAMILY, binary.NativeEndian.AppendUint16(nil, family)),
			attribute(unix.WGALLOWEDIP_A_IPADDR, p.Addr().AsSlice()), attribute(unix.WGALLOWEDIP_A_CIDR_MASK, []byte{byte(p.Bits())}))...)
	}
	return attribute(unix.NLA_F_NESTED, append(parts, attribute(unix.WGPEER_A_ALLOWEDIPS|unix.NLA_F_NESTED, list))...)
}

// attribute encodes one of netlink, padded to four bytes.
func attribute(kind uint16, content ...[]byte) []byte {
	var value []byte
	for _, c := range content {
		value = append(value, c...)
	}
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, -len(value)&3)...)
}
