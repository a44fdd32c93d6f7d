// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// A router that others share has a virtual address, which routes lead to, and one of its own, from
// which it looks for its neighbours (RFC 5798). Who blocks the latter must not lose the network.
const (
	virtualGateway = "fe80::5"
	routersOwn     = "fe80::a"
	beyond         = "2001:db8:2::2"
)

func routedNetwork(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	for _, command := range []string{
		"mount -t tmpfs tmpfs /run", "mkdir -p /run/netns", "ip netns add router", "ip netns add beyond",
		"ip link add r0 type veth peer name r1 netns router", "ip link add b1 netns beyond type veth peer name b0 netns router",
		"ip link set r0 addrgenmode none", "ip -n router link set r1 addrgenmode none",
		"ip link set r0 up", "ip -n router link set r1 up", "ip -n router link set b0 up", "ip -n beyond link set b1 up",
		"ip addr add fe80::1/64 dev r0 nodad", "ip addr add 2001:db8:1::1/64 dev r0 nodad",
		"ip -n router addr add " + routersOwn + "/64 dev r1 nodad", "ip -n router addr add " + virtualGateway + "/64 dev r1 nodad",
		"ip -n router route add 2001:db8:1::/64 dev r1",
		"ip -n router addr add 2001:db8:2::1/64 dev b0 nodad", "ip -n beyond addr add " + beyond + "/64 dev b1 nodad",
		"ip -n beyond -6 route add default via 2001:db8:2::1", "ip netns exec router sysctl -qw net.ipv6.conf.all.forwarding=1",
		"ip -6 route add 2000::/3 via " + virtualGateway + " dev r0",
	} {
		run(t, command)
	}
}

// hears says whether one of some packets from beyond arrives here, and an answer there.
func hears(t *testing.T, tries int) bool {
	t.Helper()
	here, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP("2001:db8:1::1"), Port: port})
	must(t, err)
	defer here.Close()
	go func() {
		for b := make([]byte, 10); ; {
			_, from, err := here.ReadFromUDP(b)
			if err != nil {
				return
			}
			here.WriteToUDP([]byte("back"), from)
		}
	}()
	arrived := false
	at(t, "beyond", func() {
		conn, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.ParseIP("2001:db8:1::1"), Port: port})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for ; !arrived && tries > 0; tries-- {
			conn.Write([]byte("there"))
			conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			_, err := conn.Read(make([]byte, 10))
			arrived = err == nil
		}
	})
	return arrived
}

func TestNeighboursAreFoundPastABlock(t *testing.T) {
	for _, program := range []string{"nft", "ip6tables-nft", "ip6tables-legacy", "ip", "sysctl"} {
		testenv.Program(t, program, "nftables, iptables, iproute2 or procps")
	}
	if !testenv.Isolated(t) {
		return
	}
	routedNetwork(t)
	if !hears(t, 600) {
		t.Fatal("without a block nothing arrives")
	}
	blocked := []netip.Addr{netip.MustParseAddr(routersOwn), netip.MustParseAddr(virtualGateway)}
	for _, name := range []string{"nftables", "iptables-nft", "iptables-legacy"} {
		b := backendOf(name)
		add(t, b, 0, blocked...)
		run(t, "ip neigh flush all")
		run(t, "ip -n router neigh flush all")
		if !hears(t, 200) {
			t.Errorf("%s: neighbours do not find each other", name)
		}
		if blocks, effective, err := b.Loaded(t.Context()); err != nil || !effective || len(blocks) != 2 {
			t.Errorf("%s: %v, effective %v, %v", name, blocks, effective, err)
		}
		if router := linkLocalPacketArrives(t); router {
			t.Errorf("%s: the router's own packets arrive", name)
		}
		remove(t, b, blocked...)
		commands(backendKind(name).clean)(t)
	}
}

func backendKind(name string) kind {
	if variant, ok := strings.CutPrefix(name, "iptables-"); ok {
		return iptablesKind(variant)
	}
	return kind{clean: []string{"nft flush ruleset"}}
}

// linkLocalPacketArrives says whether what the router sends by itself gets here.
func linkLocalPacketArrives(t *testing.T) bool {
	t.Helper()
	here, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP("fe80::1"), Zone: "r0", Port: port})
	must(t, err)
	defer here.Close()
	at(t, "router", func() {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(routersOwn), Zone: "r1"}, &net.UDPAddr{IP: net.ParseIP("fe80::1"), Zone: "r1", Port: port})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		conn.Write([]byte("x"))
	})
	here.SetReadDeadline(time.Now().Add(silence))
	_, _, err = here.ReadFromUDP(make([]byte, 10))
	return err == nil
}

// A gateway of any route is one; the router's own address behind a virtual one is known to
// nobody.
func TestGatewaysOfAllRoutesAreProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	routedNetwork(t)
	run(t, "ip addr add 192.0.2.10/24 dev r0")
	run(t, "ip route add 203.0.113.0/24 via 192.0.2.6")
	found := protectedBelow(t, "/")
	for _, a := range []string{virtualGateway + "/128", "192.0.2.6/32"} {
		if found[a] != "a gateway of this machine" {
			t.Errorf("%s is %q", a, found[a])
		}
	}
}
