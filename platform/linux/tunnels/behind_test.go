// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// numberOf returns the number that this network namespace has for one of ip-netns(8).
func numberOf(t *testing.T, name string) int {
	t.Helper()
	f, err := os.Open("/run/netns/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, err := netlink.GetNetNsIdByFd(int(f.Fd()))
	if err != nil || id < 0 {
		t.Fatal(id, err)
	}
	return id
}

func TestNeighborsInOtherNamespacesAreFound(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	run(t,
		"mount -t tmpfs -o mode=755 tmpfs /run", "mkdir /run/netns", "ip netns add a", "ip netns add b",
		"ip link add va type veth peer name e0 netns a", "ip addr add 10.1.0.1/24 dev va", "ip link set va up", "ip -n a link set e0 up",
		"ip link add link va name mva type macvlan", "ip addr add 10.2.0.1/24 dev mva", "ip link set mva up",
		// A bridge of nothing but containers, and one with a line of this machine beside them.
		"ip link add br0 type bridge", "ip addr add 10.3.0.1/24 dev br0", "ip link set br0 up",
		"ip link add va1 type veth peer name e1 netns a", "ip link set va1 master br0 up", "ip -n a link set e1 up",
		"ip link add vb type veth peer name e0 netns b", "ip link set vb master br0 up", "ip -n b link set e0 up",
		"ip link add br1 type bridge", "ip addr add 10.4.0.1/24 dev br1", "ip link set br1 up",
		"ip link add vb1 type veth peer name e1 netns b", "ip link set vb1 master br1 up", "ip -n b link set e1 up",
		"ip link add line type veth peer name far", "ip link set line master br1 up",
		"ip link add own type veth peer name other", "ip addr add 10.5.0.1/24 dev own", "ip link set own up", "ip link set other up",
		"ip neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev va", "ip neigh add 10.2.0.2 lladdr 02:00:00:00:00:02 dev mva",
		"ip neigh add 10.3.0.2 lladdr 02:00:00:00:00:03 dev br0", "bridge fdb append 02:00:00:00:00:03 dev vb master static",
		"ip neigh add 10.3.0.3 lladdr 02:00:00:00:00:04 dev br0", "ip neigh add 10.4.0.3 lladdr 02:00:00:00:00:04 dev br1",
		"ip neigh add 10.4.0.2 lladdr 02:00:00:00:00:05 dev br1", "bridge fdb append 02:00:00:00:00:05 dev vb1 master static",
		"ip neigh add 10.4.0.4 lladdr 02:00:00:00:00:06 dev br1", "bridge fdb append 02:00:00:00:00:06 dev line master static",
		"ip neigh add 10.5.0.2 lladdr 02:00:00:00:00:07 dev own",
		"ip neigh add fe80::3 lladdr 02:00:00:00:00:03 dev br0", "ip neigh add fe80::3 lladdr 02:00:00:00:00:03 dev own",
		"ip neigh add 169.254.0.3 lladdr 02:00:00:00:00:03 dev br0",
		"ip route add 203.0.113.0/24 via 10.1.0.2", "ip neigh add 203.0.113.5 lladdr 02:00:00:00:00:02 dev va",
	)
	a, b := numberOf(t, "a"), numberOf(t, "b")
	index := func(name string) int {
		l, err := net.InterfaceByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return l.Index
	}
	r := New("/")
	for _, c := range []struct {
		host string
		link int
		want []int
	}{
		{host: "10.1.0.2", want: []int{a}}, {host: "10.2.0.2", want: []int{a}}, {host: "10.3.0.2", want: []int{b, a}}, {host: "10.4.0.2", want: []int{b}},
		{host: "10.1.0.9"}, {host: "10.4.0.3"}, {host: "10.4.0.4"}, {host: "10.5.0.2"}, {host: "203.0.113.5"}, {host: "203.0.113.6"}, {host: "2001:db8::9"},
		// The bridge has not learned it, or does not know it any more.
		{host: "10.3.0.3", want: []int{a, b}},
		// Several interfaces have such a neighbour.
		{host: "fe80::3", want: []int{b, a}}, {host: "fe80::3%br0", want: []int{b, a}}, {host: "fe80::3%own"}, {host: "fe80::3%none"},
		{host: fmt.Sprintf("fe80::3%%%d", index("br0")), want: []int{b, a}},
		{"fe80::3", index("br0"), []int{b, a}}, {"fe80::3", index("own"), nil}, {"fe80::3", index("va"), []int{a}}, {"10.3.0.2", index("va"), []int{a}},
		// No route leads over where it is known.
		{host: "169.254.0.3"},
	} {
		if got, err := r.Behind(t.Context(), Hop{netip.MustParseAddr(c.host), c.link}); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s behind %d: %v, %v, want %v", c.host, c.link, got, err, c.want)
		}
	}
	// What could not be asked is not taken for no route, which is of a kind.
	run(t, "ip neigh add 198.51.100.5 lladdr 02:00:00:00:00:02 dev va", "ip neigh add 198.51.100.6 lladdr 02:00:00:00:00:02 dev va", "ip neigh add 198.51.100.7 lladdr 02:00:00:00:00:02 dev va",
		"ip route add blackhole 198.51.100.5", "ip route add prohibit 198.51.100.6", "ip route add unreachable 198.51.100.7")
	for _, host := range []string{"198.51.100.5", "198.51.100.6", "198.51.100.7"} {
		if got, err := r.Behind(t.Context(), Hop{Address: netip.MustParseAddr(host)}); err != nil || got != nil {
			t.Errorf("%s: %v, %v", host, got, err)
		}
	}
	r.kernel.routesTo = func(netip.Addr, netip.Addr) ([]netlink.Route, error) { return nil, unix.ENOBUFS }
	if got, err := r.Behind(t.Context(), Hop{Address: netip.MustParseAddr("10.1.0.2")}); !errors.Is(err, unix.ENOBUFS) {
		t.Errorf("not asked: %v, %v", got, err)
	}
}
