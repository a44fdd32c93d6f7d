// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/vishvananda/netlink"

	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
)

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

func key(name byte) []byte {
	return attribute(unix.WGPEER_A_PUBLIC_KEY, append([]byte{name}, make([]byte, 31)...))
}

func endpoint(a string) []byte {
	address := netip.MustParseAddr(a)
	if address.Is4() {
		return attribute(unix.WGPEER_A_ENDPOINT, binary.NativeEndian.AppendUint16(nil, unix.AF_INET), []byte{0x12, 0x34}, address.AsSlice(), make([]byte, 8))
	}
	return attribute(unix.WGPEER_A_ENDPOINT, binary.NativeEndian.AppendUint16(nil, unix.AF_INET6), []byte{0x12, 0x34, 0, 0, 0, 0}, address.AsSlice(), make([]byte, 4))
}

func allowed(list ...string) []byte {
	var all []byte
	for _, text := range list {
		p := netip.MustParsePrefix(text)
		all = append(all, attribute(unix.NLA_F_NESTED, attribute(unix.WGALLOWEDIP_A_FAMILY, []byte{2, 0}),
			attribute(unix.WGALLOWEDIP_A_IPADDR, p.Addr().AsSlice()), attribute(unix.WGALLOWEDIP_A_CIDR_MASK, []byte{byte(p.Bits())}))...)
	}
	return attribute(unix.WGPEER_A_ALLOWEDIPS|unix.NLA_F_NESTED, all)
}

// wireGuardMessages are two parts of one device, the second of which goes on with the addresses
// behind a peer (linux/wireguard.h).
func wireGuardMessages() [][]byte {
	header := []byte{0, 1, 0, 0}
	one := func(parts ...[]byte) []byte { return attribute(unix.NLA_F_NESTED, parts...) }
	first := append(header, attribute(unix.WGDEVICE_A_LISTEN_PORT, binary.NativeEndian.AppendUint16(nil, 51820))...)
	first = append(first, attribute(unix.WGDEVICE_A_PEERS|unix.NLA_F_NESTED,
		one(key('a'), endpoint("192.0.2.9"), allowed("10.8.0.0/16")), one(key('b'), endpoint("2001:db8::9"), allowed("10.8.7.0/24", "fd00::/64")))...)
	second := append([]byte{0, 1, 0, 0}, attribute(unix.WGDEVICE_A_PEERS|unix.NLA_F_NESTED, one(key('b'), allowed("10.8.9.0/24")), one(key('c'), allowed("10.8.6.0/24")))...)
	return [][]byte{first, second}
}

// The peer that has the other end behind it carries the session, and no other one.
func TestPeersOfWireGuardCarry(t *testing.T) {
	wg := interfaces.Link{Index: 5, Name: "wg0", Kind: interfaces.KindWireGuard, Addresses: []netip.Prefix{netip.MustParsePrefix("10.8.0.1/16")}}
	inner := interfaces.Link{Index: 6, Name: "vx0", Kind: interfaces.KindVXLAN, Remote: netip.MustParseAddr("10.8.7.7"), Local: netip.MustParseAddr("10.8.0.1"), Port: 4789, Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}}
	r := New("/")
	r.kernel = silentKernel(wg, inner)
	r.kernel.wireGuard = func(index int) ([][]byte, error) {
		if index != 5 {
			t.Errorf("asked about %d", index)
		}
		return wireGuardMessages(), nil
	}
	for _, c := range []struct{ local, remote, want string }{
		{"10.8.0.1", "10.8.0.2", "wg0 wireguard 192.0.2.9 udp/51820"},
		{"10.8.0.1", "10.8.7.2", "wg0 wireguard 2001:db8::9 udp/51820"},
		{"10.8.0.1", "10.8.9.2", "wg0 wireguard 2001:db8::9 udp/51820"},
		{"10.8.0.1", "fd00::2", "wg0 wireguard 2001:db8::9 udp/51820"},
		{"10.8.0.1", "10.8.6.2", "wg0 wireguard udp/51820: the other end of the tunnel wg0 is not known"},
		{"10.8.0.1", "203.0.113.2", "wg0 wireguard udp/51820: the other end of the tunnel wg0 is not known"},
		{"10.9.0.1", "10.9.0.2", "vx0 vxlan 10.8.7.7 udp/4789\nwg0 wireguard 2001:db8::9 udp/51820"},
	} {
		if got := carried(t, r, c.local, c.remote); got != c.want {
			t.Errorf("to %s: %s, want %s", c.remote, got, c.want)
		}
	}
	r.kernel.wireGuard = func(int) ([][]byte, error) { return nil, unix.EPERM }
	if got := carried(t, r, "10.8.0.1", "10.8.0.2"); got != "wg0 wireguard: the peers of the tunnel wg0 cannot be read (operation not permitted)" {
		t.Errorf("without the right: %s", got)
	}
}

// What cannot be read is told beside the rest.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	tun := interfaces.Link{Index: 5, Name: "tun0", Kind: interfaces.KindTUN, Addresses: []netip.Prefix{netip.MustParsePrefix("10.8.0.1/16")}}
	gre := interfaces.Link{Index: 6, Name: "g0", Kind: "gre", Remote: netip.MustParseAddr("192.0.2.9"), Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}}
	r := New(t.TempDir())
	r.kernel = silentKernel(tun, gre)
	r.kernel.policies = func() ([]netlink.XfrmPolicy, error) { panic("an attribute is too short") }
	r.kernel.peers = func(context.Context, []uint16) ([]conntrack.Peer, error) { return nil, unix.EPERM }
	found, err := r.Carry(t.Context(), between("10.9.0.1", "10.9.0.2"))
	if err == nil || len(found) != 1 || found[0].Addresses[0] != gre.Remote {
		t.Errorf("%v, %v", found, err)
	}
	found, _ = r.Carry(t.Context(), between("10.8.0.1", "10.8.0.2"))
	if len(found) != 1 || found[0].Unknown == "" {
		t.Errorf("without /proc: %v", found)
	}
	for _, remote := range []string{"10.9.0.2", "10.9.0.3"} { // what failed once is said each time
		if _, err := r.Carry(t.Context(), between("10.9.0.1", remote)); err == nil || !strings.Contains(err.Error(), "an attribute is too short") {
			t.Errorf("to %s: %v", remote, err)
		}
	}
	r = New(t.TempDir())
	r.kernel.links = func() ([]interfaces.Link, error) { return nil, unix.EPERM }
	if _, err := r.Carry(t.Context(), between("10.9.0.1", "10.9.0.2")); err == nil {
		t.Error("nothing could be listed")
	}
}

// There may be as many other hosts as the network has, and what is the same for all of them is asked for once.
func TestLinksAndPoliciesAreListedOnce(t *testing.T) {
	gre := interfaces.Link{Index: 6, Name: "g0", Kind: "gre", Remote: netip.MustParseAddr("192.0.2.9"), Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}}
	r := New("/")
	r.kernel = silentKernel(gre)
	links, policies := 0, 0
	r.kernel.links = func() ([]interfaces.Link, error) { links++; return []interfaces.Link{gre}, nil }
	r.kernel.policies = func() ([]netlink.XfrmPolicy, error) { policies++; return nil, nil }
	remote := netip.MustParseAddr("10.9.0.2")
	for range 100 {
		if got := carried(t, r, "10.9.0.1", remote.String()); got != "g0 gre 192.0.2.9 gre/0" {
			t.Fatalf("to %s: %s", remote, got)
		}
		remote = remote.Next()
	}
	if links != 1 || policies != 1 {
		t.Errorf("links were listed %d times, policies %d times", links, policies)
	}
}
