// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

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
		"ip neigh add fe80::3 lladdr 02:00:00:00:00:03 dev br0",
		"ip route add 203.0.113.0/24 via 10.1.0.2", "ip neigh add 203.0.113.5 lladdr 02:00:00:00:00:02 dev va",
	)
	a, b := []int{numberOf(t, "a")}, []int{numberOf(t, "b")}
	r := New("/")
	for host, want := range map[string][]int{
		"10.1.0.2": a, "10.2.0.2": a, "10.3.0.2": b, "10.4.0.2": b, "fe80::3": b,
		"10.1.0.9": nil, "10.4.0.3": nil, "10.4.0.4": nil, "10.5.0.2": nil, "203.0.113.5": nil, "203.0.113.6": nil, "2001:db8::9": nil,
	} {
		if got, err := r.Behind(t.Context(), netip.MustParseAddr(host)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", host, got, err, want)
		}
	}
	const why = "the bridge br0 does not tell behind which port it is"
	if got, err := r.Behind(t.Context(), netip.MustParseAddr("10.3.0.3")); got != nil || err == nil || err.Error() != why {
		t.Errorf("%v, %v, want %s", got, err, why)
	}
}
