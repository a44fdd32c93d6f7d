// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

// quietKernel has neither interfaces nor routes. Its functions are replaced one by one.
func quietKernel() kernel {
	return kernel{
		links:     func() ([]interfaces.Link, error) { return nil, nil },
		routes:    routesOf(nil),
		routesTo:  func(net.IP) ([]netlink.Route, error) { return nil, unix.ENETUNREACH },
		neighbors: func(netlink.Ndmsg) ([]netlink.Neigh, error) { return nil, nil },
		nextHops:  func() ([][]byte, error) { return nil, errors.New("asked for nexthop objects") },
		rawRoutes: func(func([]byte) bool) error { return nil },
		wireGuard: func(int) ([][]byte, error) { return nil, errors.New("asked for WireGuard") },
		translations: func(context.Context, func(conntrack.Translation) bool) ([]conntrack.Translation, error) {
			return nil, nil
		},
		ask: func(context.Context, []netip.Addr) {},
	}
}

type routeDump = func(int, *netlink.Route, uint64, func(netlink.Route) bool) error

// routesOf answers with the routes of each family, and only to who asks for all tables.
func routesOf(byFamily map[int][]netlink.Route) routeDump {
	return func(family int, filter *netlink.Route, mask uint64, visit func(netlink.Route) bool) error {
		if filter.Table != unix.RT_TABLE_UNSPEC || mask != netlink.RT_FILTER_TABLE {
			return errors.New("not all tables are asked for")
		}
		for _, r := range byFamily[family] {
			if !visit(r) {
				break
			}
		}
		return nil
	}
}

func network(t *testing.T, text string) *net.IPNet {
	t.Helper()
	_, n, err := net.ParseCIDR(text)
	must(t, err)
	return n
}

// reasons lists what is protected and why, in order.
func reasons(list []blocklist.ProtectedAddr) []string {
	var all []string
	for _, p := range list {
		all = append(all, strings.TrimSuffix(p.Prefix.String()+" is "+p.Why, " of this machine"))
	}
	slices.Sort(all)
	return all
}

func TestRoutesAreUnderstood(t *testing.T) {
	via := net.ParseIP("192.0.2.1").To4()
	all4, all6 := network(t, "0.0.0.0/0"), network(t, "::/0")
	for name, c := range map[string]struct {
		route netlink.Route
		want  string
		err   error
	}{
		"a default route":        {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, Table: 254, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"as the library has it":  {netlink.Route{Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"in another table":       {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, Table: 1000, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"of IPv6":                {netlink.Route{Dst: all6, Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: net.ParseIP("fe80::1")}, "fe80::1/128 is a gateway", nil},
		"into a tunnel":          {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, LinkIndex: 3}, "", nil},
		"by way of IPv6":         {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, LinkIndex: 2, Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: net.ParseIP("fe80::4")}}, "fe80::4/128 is a gateway", nil},
		"over two lines":         {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, MultiPath: []*netlink.NexthopInfo{{Gw: via}, {Gw: net.IP{192, 0, 2, 2}}}}, "192.0.2.1/32 is a gateway, 192.0.2.2/32 is a gateway", nil},
		"over two tunnels":       {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, MultiPath: []*netlink.NexthopInfo{{LinkIndex: 3}, {LinkIndex: 4}}}, "", nil},
		"half of the Internet":   {netlink.Route{Dst: network(t, "128.0.0.0/1"), Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"a quarter of it":        {netlink.Route{Dst: network(t, "128.0.0.0/2"), Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"a network":              {netlink.Route{Dst: network(t, "198.51.100.0/24"), Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"a line":                 {netlink.Route{Dst: network(t, "198.51.100.0/24"), Type: unix.RTN_UNICAST, LinkIndex: 2}, "", nil},
		"unreachable":            {netlink.Route{Dst: all4, Type: unix.RTN_UNREACHABLE}, "", nil},
		"by an object":           {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST}, "", errNextHop},
		"by an object, shown":    {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: via}, "192.0.2.1/32 is a gateway", nil},
		"no gateway yet":         {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: net.IP{0, 0, 0, 0}}, "", nil},
		"an odd gateway":         {netlink.Route{Dst: all4, Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: net.IP{192, 0, 2}}, "", netattr.ErrFormat},
		"no destination":         {netlink.Route{Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: via}, "", netattr.ErrFormat},
		"a prefix too long":      {netlink.Route{Dst: &net.IPNet{IP: via}, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL}, "", netattr.ErrFormat},
		"local":                  {netlink.Route{Dst: network(t, "192.0.2.10/32"), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL}, "192.0.2.10/32 is an address", nil},
		"anycast":                {netlink.Route{Dst: network(t, "2001:db8::/128"), Type: unix.RTN_ANYCAST, Table: unix.RT_TABLE_LOCAL}, "2001:db8::/128 is an address", nil},
		"broadcast":              {netlink.Route{Dst: network(t, "192.0.2.255/32"), Type: unix.RTN_BROADCAST, Table: unix.RT_TABLE_LOCAL}, "192.0.2.255/32 is a broadcast address of a network", nil},
		"local in another table": {netlink.Route{Dst: all4, Type: unix.RTN_LOCAL, Table: 100}, "", nil},
		"all local":              {netlink.Route{Dst: all4, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL}, "", nil},
	} {
		got, err := protectRoute(c.route)
		if text := strings.Join(reasons(got), ", "); text != c.want || !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
			t.Errorf("%s: %q, %v; want %q, %v", name, text, err, c.want, c.err)
		}
		for _, p := range got {
			if p.Own != strings.HasPrefix(p.Why, blocklist.WhyOwn) {
				t.Errorf("%s: %s, own %v", name, p.Why, p.Own)
			}
		}
	}
}

func TestRoutesOfAllTablesAndFamiliesAreRead(t *testing.T) {
	s := &HostContext{kernel: quietKernel()}
	s.kernel.routes = routesOf(map[int][]netlink.Route{
		netlink.FAMILY_V4: {
			{Dst: network(t, "0.0.0.0/0"), Type: unix.RTN_UNICAST, Table: 1000, LinkIndex: 2, Gw: net.IP{192, 0, 2, 1}},
			{Dst: network(t, "0.0.0.0/0"), Type: unix.RTN_UNICAST, Gw: net.IP{1, 2, 3}},
			{Dst: network(t, "203.0.113.0/24"), Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: net.IP{192, 0, 2, 1}},
			{Dst: network(t, "192.0.2.10/32"), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL},
		},
		netlink.FAMILY_V6: {{Dst: network(t, "::/0"), Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: net.ParseIP("fe80::1")}},
	})
	list, err := s.routes(t.Context())
	want := []string{"192.0.2.1/32 is a gateway", "192.0.2.10/32 is an address", "fe80::1/128 is a gateway"}
	if diff := cmp.Diff(want, reasons(list)); diff != "" || !errors.Is(err, netattr.ErrFormat) {
		t.Errorf("%v %s", err, diff)
	}
}

func TestNextHopObjectsAreAskedForWhereARouteNamesOne(t *testing.T) {
	s := &HostContext{kernel: quietKernel()}
	s.kernel.routes = routesOf(map[int][]netlink.Route{netlink.FAMILY_V4: {
		{Dst: network(t, "0.0.0.0/0"), Type: unix.RTN_UNICAST},
		{Dst: network(t, "0.0.0.0/0"), Type: unix.RTN_UNICAST, LinkIndex: 2, Gw: net.IP{192, 0, 2, 1}},
	}})
	if _, err := s.routes(t.Context()); err == nil || err.Error() != "asked for nexthop objects" {
		t.Errorf("they are not asked for: %v", err)
	}
	s.kernel.nextHops = func() ([][]byte, error) {
		return [][]byte{message(t, "02000000 00000000 08000100 07000000 08000600 c0000207"), message(t, "02000000 00000000 08000100 09000000")}, nil
	}
	list, err := s.routes(t.Context())
	want := []string{"192.0.2.1/32 is a gateway", "192.0.2.7/32 is a gateway"}
	if diff := cmp.Diff(want, reasons(list)); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	s.kernel.nextHops = func() ([][]byte, error) { return [][]byte{message(t, "02000000 0000")}, nil }
	if _, err := s.routes(t.Context()); !errors.Is(err, netattr.ErrFormat) {
		t.Errorf("a short message: %v", err)
	}
}

// What changed while it was read is read again, and what no kernel sends is an error
// and no panic.
func TestDumpsAreCompleteOrFail(t *testing.T) {
	s := &HostContext{kernel: quietKernel()}
	asked, interruptions := 0, 0
	s.kernel.routes = func(family int, _ *netlink.Route, _ uint64, visit func(netlink.Route) bool) error {
		if asked++; asked <= interruptions {
			visit(netlink.Route{Dst: network(t, "192.0.2.66/32"), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL})
			return netlink.ErrDumpInterrupted
		}
		visit(netlink.Route{Dst: network(t, "192.0.2.10/32"), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL})
		return nil
	}
	interruptions = 2 * (netattr.Dumps - 1)
	list, err := s.routes(t.Context())
	if got := strings.Join(reasons(list), ", "); err != nil || got != "192.0.2.10/32 is an address" {
		t.Errorf("%q, %v", got, err)
	}
	asked, interruptions = 0, 1000
	if _, err := s.routes(t.Context()); !errors.Is(err, netlink.ErrDumpInterrupted) || asked != 2*netattr.Dumps {
		t.Errorf("asked %d times, %v", asked, err)
	}
	s.kernel.routes = func(int, *netlink.Route, uint64, func(netlink.Route) bool) error {
		short := make([]byte, 1)
		_ = binary.NativeEndian.Uint32(short) // as the library reads attributes
		return nil
	}
	if _, err := s.routes(t.Context()); !errors.Is(err, netattr.ErrFormat) {
		t.Errorf("a panic of the library: %v", err)
	}
}

func TestAddressesOfInterfacesAreOwn(t *testing.T) {
	s := &HostContext{kernel: quietKernel()}
	s.kernel.links = func() ([]interfaces.Link, error) {
		return []interfaces.Link{{Index: 2, Name: "eth0\x1b", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("fe80::10/64")}}}, nil
	}
	list, err := s.ownAddresses(t.Context())
	want := []string{"192.0.2.10/32 is an address of this machine, on eth0\ufffd", "fe80::10/128 is an address of this machine, on eth0\ufffd"}
	if diff := cmp.Diff(want, reasons(list)); diff != "" || err != nil || !list[0].Own || !list[1].Own {
		t.Errorf("%v %s %+v", err, diff, list)
	}
}

func TestTunnelsAndTheirFarEnds(t *testing.T) {
	s := &HostContext{root: t.TempDir(), kernel: quietKernel()}
	s.kernel.links = func() ([]interfaces.Link, error) {
		return []interfaces.Link{
			{Index: 2, Name: "eth0", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}},
			{Index: 3, Name: "gre1", Kind: "gre", Remote: netip.MustParseAddr("192.0.2.9")},
			{Index: 4, Name: "vx0", Kind: interfaces.KindVXLAN, Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.1/24")}},
			{Index: 5, Name: "wg0", Kind: interfaces.KindWireGuard},
		}, nil
	}
	const told = unix.NUD_PERMANENT
	entries := []netlink.Neigh{
		{LinkIndex: 4, IP: net.IP{192, 0, 2, 8}, State: told}, {LinkIndex: 4, State: told}, {LinkIndex: 4, IP: net.IP{0, 0, 0, 0}, State: told},
		{LinkIndex: 3, IP: net.IP{192, 0, 2, 66}, State: told}, {LinkIndex: 4, IP: net.IP{192, 0, 2, 67}, State: unix.NUD_REACHABLE},
	}
	s.kernel.neighbors = func(ask netlink.Ndmsg) ([]netlink.Neigh, error) {
		if ask.Family != unix.AF_BRIDGE {
			return nil, errors.New("forwarding entries are not asked for")
		}
		return entries, nil
	}
	s.kernel.wireGuard = func(index int) ([][]byte, error) {
		if index != 5 {
			return nil, errors.New("asked for another interface")
		}
		return [][]byte{message(t, "00010000 1c000880 18000080 14000400 0200 1234 c0000207 0000000000000000")}, nil
	}
	const gre, vxlan, wireGuard = "192.0.2.9/32 is the other end of the tunnel gre1", "192.0.2.8/32 is the other end of the tunnel vx0", "192.0.2.7/32 is the other end of the tunnel wg0"
	list, err := s.tunnelEnds(t.Context())
	if diff := cmp.Diff([]string{wireGuard, vxlan, gre}, reasons(list)); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	entries = []netlink.Neigh{{LinkIndex: 4, IP: net.IP{192, 0, 2}, State: told}}
	if _, err := s.tunnelEnds(t.Context()); !errors.Is(err, netattr.ErrFormat) {
		t.Errorf("an odd entry: %v", err)
	}
}
