// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// An icmpListener hears all messages of ICMPv6 that a machine of the test network gets.
type icmpListener struct{ *net.IPConn }

func listenICMP(t *testing.T, place string) (l icmpListener) {
	t.Helper()
	at(t, place, func() {
		conn, err := net.ListenIP("ip6:58", &net.IPAddr{IP: net.IPv6unspecified})
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { conn.Close() })
		l.IPConn = conn
	})
	return l
}

// An icmpMessage goes from one machine of the test network to another.
type icmpMessage struct {
	place, from, to string
	kind, hops      int
}

// send sends it with a text. Where it may not leave, that is no error.
func (m icmpMessage) send(t *testing.T, text string) {
	t.Helper()
	at(t, m.place, func() {
		from, err := net.ResolveIPAddr("ip6", m.from)
		must(t, err)
		to, err := net.ResolveIPAddr("ip6", m.to)
		must(t, err)
		conn, err := net.ListenIP("ip6:58", from)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		raw, err := conn.SyscallConn()
		must(t, err)
		must(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, m.hops) }))
		must(t, err)
		conn.WriteTo(append([]byte{byte(m.kind), 0, 0, 0, 0, 0, 0, 0}, text...), to)
	})
}

// hearsBefore says whether a text arrives before another, which passes and is sent after it the same way.
func (l icmpListener) hearsBefore(t *testing.T, text, last string, again func()) bool {
	t.Helper()
	heard := false
	testenv.WaitFor(t, last+" arrives", func() bool {
		again()
		l.SetReadDeadline(time.Now().Add(time.Second))
		for b := make([]byte, 1500); ; {
			n, _, err := l.ReadFrom(b)
			if err != nil {
				return false
			}
			heard = heard || strings.Contains(string(b[:n]), text)
			if strings.Contains(string(b[:n]), last) {
				return true
			}
		}
	})
	return heard
}

// What neighbours find each other with passes between this machine and its own networks, and carries nothing between
// a blocked address and what is behind this machine, or from another network.
func TestMessagesOfNeighboursAreNotForwardedPastABlock(t *testing.T) {
	for _, program := range []string{"nft", "ip6tables-nft", "ip6tables-legacy", "ip", "sysctl"} {
		testenv.Program(t, program, "nftables, iptables, iproute2 or procps")
	}
	if !testenv.Isolated(t) {
		return
	}
	w := newTestNetwork(t)
	run(t, "ip -n peer addr add fe80::66/64 dev p1 nodad")
	run(t, "ip addr add fe80::aa/64 dev p0 nodad")
	w.open()
	listeners := map[string]icmpListener{here6: listenICMP(t, ""), far6: listenICMP(t, "far"), peer6: listenICMP(t, "peer")}
	listeners["fe80::aa%p1"], listeners["fe80::66%p0"] = listeners[here6], listeners[peer6]
	blocked := []netip.Addr{netip.MustParseAddr(peer6), netip.MustParseAddr("fe80::66")}
	for _, name := range []string{"nftables", "iptables-nft", "iptables-legacy"} {
		b := backendOf(name)
		for _, old := range []string{"", olderRule(name)} {
			add(t, b, 0, blocked...)
			if old != "" {
				run(t, old)
				loaded(t, b, false, blocked...)
				add(t, b, 0, blocked...)
			}
			loaded(t, b, true, blocked...)
			for m, want := range neighbourMessages() {
				if got := m.arrives(t, listeners[m.to]); got != want {
					t.Errorf("%s after %q: %+v arrives: %v", name, old, m, got)
				}
			}
		}
		remove(t, b, blocked...)
		commands(backendKind(name).clean)(t)
	}
}

// olderRule puts a rule as of an earlier version before those there are.
func olderRule(name string) string {
	if variant, ok := strings.CutPrefix(name, "iptables-"); ok {
		return "ip6tables-" + variant + " -I " + OwnChain + " 1 -p ipv6-icmp --icmpv6-type 136 -j RETURN"
	}
	return "nft insert rule inet " + ownTable().Name + " forward icmpv6 type 130-137 accept"
}

// neighbourMessages are some of a blocked address, and whether each passes.
func neighbourMessages() map[icmpMessage]bool {
	const linkPeer, linkHere = "fe80::66%p1", "fe80::aa%p0"
	list := map[icmpMessage]bool{
		{"peer", linkPeer, "fe80::aa%p1", 130, 1}: true, {"", linkHere, "fe80::66%p0", 131, 1}: true,
		{"peer", linkPeer, "fe80::aa%p1", 128, 255}: false, {"", linkHere, "fe80::66%p0", 128, 255}: false,
		{"peer", linkPeer, "fe80::aa%p1", 136, 64}: false, {"", linkHere, "fe80::66%p0", 136, 64}: false,
	}
	for kind := 130; kind <= 138; kind++ {
		for _, hops := range []int{64, 255} {
			list[icmpMessage{"peer", peer6, far6, kind, hops}] = false
			list[icmpMessage{"far", far6, peer6, kind, hops}] = false
			nearby := hops == 255 && kind >= 133 && kind <= 137
			list[icmpMessage{"peer", peer6, here6, kind, hops}] = nearby
			list[icmpMessage{"", here6, peer6, kind, hops}] = nearby
		}
	}
	return list
}

// arrives sends the message, and after it one of the stranger beside the peer, which nothing keeps away.
func (m icmpMessage) arrives(t *testing.T, l icmpListener) bool {
	t.Helper()
	text, last := fmt.Sprintf("<%+v>", m), fmt.Sprintf("<after %+v>", m)
	after := icmpMessage{m.place, stranger6, m.to, 129, 64}
	switch {
	case strings.HasPrefix(m.to, "fe80::aa"):
		after.to = here6
	case m.place != "peer":
		after.from, after.to = far6, stranger6
		if m.place == "" {
			after.from = here6
		}
	}
	m.send(t, text)
	return l.hearsBefore(t, text, last, func() { after.send(t, last) })
}
