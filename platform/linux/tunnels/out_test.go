// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
)

// Whoever is logged in, the machine reaches others by its default routes, however these are written, and its name
// servers.
func TestWaysOutAreFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	fd := openTUN(t, "tun7", unix.IFF_TUN)
	client, err := net.Dial("udp", "192.0.2.9:1194")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "ip addr add 198.51.100.1/24 dev tun7", "ip addr add 2001:db8:7::1/64 dev tun7 nodad", "ip link set tun7 up",
		"ip link add vx0 type vxlan id 5 remote 192.0.2.8 dstport 4789", "ip addr add 203.0.113.1/24 dev vx0", "ip link set vx0 up")
	none := testenv.Plant(t, map[string]string{"etc/resolv.conf": "nameserver 192.0.2.53\n"})
	far := testenv.Plant(t, map[string]string{"etc/resolv.conf": "nameserver 203.0.113.53\n"})
	for _, root := range []string{none, far} {
		if err := os.Symlink("/proc", root+"/proc"); err != nil {
			t.Fatal(err)
		}
	}
	program := fmt.Sprintf("tun7 tun 192.0.2.9 by [%d]", os.Getpid())
	const kernel = "vx0 vxlan 192.0.2.8 udp/4789"
	for _, c := range []struct{ routes, root, want string }{
		{"", none, ""},
		{"default via 198.51.100.2", none, program},
		{"default dev tun7", none, program},
		{"0.0.0.0/1 dev tun7,128.0.0.0/1 dev tun7", none, program},
		{"2000::/3 dev tun7", none, program},
		{"default dev tun7 table 77", none, program},
		{"default nexthop dev d0 nexthop dev tun7", none, program},
		{"10.0.0.0/8 dev tun7", none, ""},
		{"unreachable default", none, ""},
		{"default via 203.0.113.2", none, kernel},
		{"", far, kernel},
		{"default dev tun7", far, program + "\n" + kernel},
	} {
		routes := strings.FieldsFunc(c.routes, func(r rune) bool { return r == ',' })
		for _, route := range routes {
			run(t, family(route)+" route add "+route)
		}
		if found, err := New(c.root).Out(t.Context()); err != nil || summary(found) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.routes, summary(found), err, c.want)
		}
		for _, route := range routes {
			run(t, family(route)+" route del "+route)
		}
	}
	run(t, "ip route add default dev tun7", "ip route add 192.0.2.9/32 dev tun7")
	proxy := fmt.Sprintf("tun7 tun by [%d]: its program may call hosts for others, as a proxy does", os.Getpid())
	if found, err := New(none).Out(t.Context()); err != nil || summary(found) != proxy {
		t.Errorf("whom it may have called for others: %q, %v", summary(found), err)
	}
	client.Close()
	holdAs(t, 1000, fd, "192.0.2.9:1194")
	if found, err := New(none).Out(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("a user's program that was given the device: %q, %v", summary(found), err)
	}
}

func family(route string) string {
	if strings.Contains(route, "::") {
		return "ip -6"
	}
	return "ip"
}

// Who came to the program of a client's tunnel is not the way out; where it has called nobody, the way out came in.
func TestWhoCameIsNoWayOut(t *testing.T) {
	called, came := end{address: netip.MustParseAddr("192.0.2.9")}, end{address: netip.MustParseAddr("192.0.2.66"), came: true}
	for _, c := range []struct {
		ends  []end
		begun bool
		want  string
	}{
		{[]end{called, came}, true, "tun7 tun 192.0.2.9"},
		{[]end{called, came}, false, "tun7 tun 192.0.2.9 192.0.2.66 udp/1194"},
		{[]end{came}, true, "tun7 tun 192.0.2.66 udp/1194"},
	} {
		tunnel := sessions.Tunnel{Interface: "tun7", Kind: "tun", Ports: []sessions.Port{{Protocol: "udp", Number: 1194}}}
		w := walk{Reader: &Reader{begun: c.begun}}
		w.choose(&tunnel, c.ends)
		if got := summary([]sessions.Tunnel{tunnel}); got != c.want {
			t.Errorf("%v, %t: %s, want %s", c.ends, c.begun, got, c.want)
		}
	}
}

// A container can send from the port of a tunnel, too, and whom it calls is no end of that.
func TestWhatIsPassedOnIsNoEnd(t *testing.T) {
	own, container := netip.MustParseAddr("198.51.100.10"), netip.MustParseAddr("172.17.0.2")
	r := New(t.TempDir())
	r.kernel.peers = func(context.Context, []uint16) ([]conntrack.Peer, error) {
		return []conntrack.Peer{
			{Port: 1194, Address: netip.MustParseAddr("192.0.2.9"), Local: own}, {Port: 1194, Address: netip.MustParseAddr("203.0.113.66"), Local: container},
			{Port: 1194, Address: netip.MustParseAddr("192.0.2.77"), Came: true, Local: own},
		}, nil
	}
	w := walk{Reader: r, ctx: t.Context(), links: []interfaces.Link{{Addresses: []netip.Prefix{netip.PrefixFrom(own, 24)}}}}
	list, unseen, err := w.tracked([]uint16{1194})
	want := []end{{address: netip.MustParseAddr("192.0.2.9")}, {address: netip.MustParseAddr("192.0.2.77"), came: true}}
	if !slices.Equal(list, want) || unseen || err != nil {
		t.Errorf("%v, unseen %t, %v", list, unseen, err)
	}
}

// Anybody can have a VXLAN learn an entry, from any address.
func TestALearnedEndIsNoWayOut(t *testing.T) {
	entry := func(state int, end string) netlink.Neigh {
		return netlink.Neigh{LinkIndex: 5, State: state, IP: net.ParseIP(end), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 7}}
	}
	r := New(t.TempDir())
	r.kernel = silentKernel(interfaces.Link{Index: 5, Name: "vx0", Kind: interfaces.KindVXLAN, Port: 4789})
	r.kernel.neighbors = func(m netlink.Ndmsg) ([]netlink.Neigh, error) {
		if m.Family == unix.AF_BRIDGE {
			return []netlink.Neigh{entry(unix.NUD_REACHABLE, "192.0.2.66"), entry(unix.NUD_PERMANENT, "192.0.2.8")}, nil
		}
		return []netlink.Neigh{entry(unix.NUD_REACHABLE, "203.0.113.2")}, nil
	}
	r.kernel.routes = func(family int, _ *netlink.Route, _ uint64, visit func(netlink.Route) bool) error {
		if family == netlink.FAMILY_V4 {
			visit(netlink.Route{Type: unix.RTN_UNICAST, LinkIndex: 5, Gw: net.ParseIP("203.0.113.2"), Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}})
		}
		return nil
	}
	if found, err := r.Out(t.Context()); err != nil || summary(found) != "vx0 vxlan 192.0.2.8 udp/4789" {
		t.Errorf("%q, %v", summary(found), err)
	}
}

func TestGatewaysOfWideRoutesAreListedOnce(t *testing.T) {
	wide := func(length int, r netlink.Route) netlink.Route {
		r.Type, r.Dst = unix.RTN_UNICAST, &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(length, 32)}
		return r
	}
	r := New(t.TempDir())
	r.kernel = silentKernel()
	r.kernel.routes = func(family int, _ *netlink.Route, _ uint64, visit func(netlink.Route) bool) error {
		for _, route := range []netlink.Route{
			wide(0, netlink.Route{Gw: net.IP{192, 0, 2, 1}}), wide(1, netlink.Route{Gw: net.ParseIP("192.0.2.1"), Table: 1000}), wide(24, netlink.Route{Gw: net.IP{192, 0, 2, 9}}),
			wide(0, netlink.Route{LinkIndex: 5}), wide(0, netlink.Route{MultiPath: []*netlink.NexthopInfo{{Gw: net.IP{192, 0, 2, 2}, LinkIndex: 6}, {LinkIndex: 5}}}),
			wide(0, netlink.Route{LinkIndex: 7, Via: &netlink.Via{Addr: net.ParseIP("fe80::1")}}), wide(0, netlink.Route{LinkIndex: 8, Gw: net.ParseIP("fe80::1")}),
		} {
			if family == netlink.FAMILY_V4 {
				visit(route)
			}
		}
		return nil
	}
	router := netip.MustParseAddr("fe80::1")
	want := []Hop{{netip.MustParseAddr("192.0.2.1"), 0}, {netip.MustParseAddr("192.0.2.2"), 6}, {router, 7}, {router, 8}}
	if got, err := r.Gateways(t.Context(), nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// A connection may leave by another gateway than all others, and rules may look at the address that it leaves from.
func TestGatewaysOfConnectionsAreFound(t *testing.T) {
	r := New(t.TempDir())
	r.kernel = silentKernel()
	r.kernel.routesTo = func(remote, local netip.Addr) ([]netlink.Route, error) {
		switch remote.String() + " " + local.String() {
		case "203.0.113.9 192.0.2.7":
			return []netlink.Route{{Gw: net.IP{192, 0, 2, 3}, LinkIndex: 5}}, nil
		case "192.0.2.8 192.0.2.7":
			return []netlink.Route{{LinkIndex: 5}}, nil
		case "2001:db8::9 invalid IP":
			return nil, unix.ENETUNREACH
		default:
			return nil, unix.ENOBUFS
		}
	}
	at, far := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("203.0.113.9")
	want := []Hop{{netip.MustParseAddr("192.0.2.3"), 5}}
	got, err := r.Gateways(t.Context(), []sessions.Connection{{Local: at, Remote: far}, {Local: at, Remote: netip.MustParseAddr("192.0.2.8")}, {Remote: netip.MustParseAddr("2001:db8::9")}})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := r.Gateways(t.Context(), []sessions.Connection{{Remote: far}}); !errors.Is(err, unix.ENOBUFS) {
		t.Errorf("a route that is not told: %v", err)
	}
}
