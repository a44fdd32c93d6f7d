// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

func run(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c, err, out)
		}
	}
}

// translatingNetwork is this machine and another, which has .2 and .3 of a network, and rules of this machine that
// send 10.96.0.9 to .2 and have what comes to port 2300 come from 10.77.0.1.
func translatingNetwork(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	run(t, "mount -t tmpfs tmpfs /run", "mkdir -p /run/netns", "ip netns add peer", "ip link set lo up",
		"ip link add p0 type veth peer name p1 netns peer", "ip addr add 198.51.100.1/24 dev p0", "ip link set p0 up",
		"ip addr add 2001:db8:1::1/64 dev p0 nodad", "ip -n peer addr add 2001:db8:1::2/64 dev p1 nodad",
		"ip -n peer addr add 198.51.100.2/24 dev p1", "ip -n peer addr add 198.51.100.3/24 dev p1", "ip -n peer link set p1 up",
		"ip route add 10.96.0.0/24 dev p0", "ip route add 10.77.0.0/24 dev p0", "ip -6 route add 2001:db8:96::/64 dev p0",
		"nft add table inet n", "nft add chain inet n o { type nat hook output priority -100 ; }",
		"nft add chain inet n i { type nat hook input priority 100 ; }",
		"nft add rule inet n o ip daddr 10.96.0.9 dnat ip to 198.51.100.2",
		"nft add rule inet n o ip6 daddr 2001:db8:96::9 dnat ip6 to 2001:db8:1::2",
		"nft add rule inet n i tcp dport 2300 snat ip to 10.77.0.1")
}

// listen takes connections in a network namespace of ip-netns(8), here for "", and keeps them open.
func listen(t *testing.T, place, address string) (accepted chan net.Conn) {
	t.Helper()
	accepted = make(chan net.Conn, 10)
	do := func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
	}
	if place == "" {
		do()
	} else {
		testenv.InNetworkNamespace(t, "/run/netns/"+place, do)
	}
	return accepted
}

// dial connects from one of the own addresses and keeps the connection open.
func dial(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func onWire(t *testing.T, c net.Conn) string {
	t.Helper()
	local, remote := c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
	a, err := OnWire(unix.IPPROTO_TCP, local, remote)
	if err != nil {
		t.Errorf("%s to %s: %v", local, remote, err)
	}
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func TestAddressOnTheWireIsThatOfOneConnection(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	translatingNetwork(t)
	listen(t, "peer", "0.0.0.0:2200")
	listen(t, "peer", "[2001:db8:1::2]:2200")
	here, plain := listen(t, "", "0.0.0.0:2300"), listen(t, "", "0.0.0.0:2400")
	var fromPeer []net.Conn
	testenv.InNetworkNamespace(t, "/run/netns/peer", func() {
		for _, way := range [][2]string{{"198.51.100.2", "198.51.100.1:2300"}, {"198.51.100.3", "198.51.100.1:2300"}, {"198.51.100.3", "198.51.100.1:2400"}} {
			fromPeer = append(fromPeer, dial(t, way[0], way[1]))
		}
	})
	for c, want := range map[net.Conn]string{
		dial(t, "198.51.100.1", "10.96.0.9:2200"):         "198.51.100.2",
		dial(t, "2001:db8:1::1", "[2001:db8:96::9]:2200"): "2001:db8:1::2",
		dial(t, "198.51.100.1", "198.51.100.2:2200"):      "",
		<-plain: "",
	} {
		if got := onWire(t, c); got != want {
			t.Errorf("%s to %s: %q, want %q", c.LocalAddr(), c.RemoteAddr(), got, want)
		}
	}
	var got []string
	for range 2 {
		c := <-here
		if from := c.RemoteAddr().(*net.TCPAddr).IP.String(); from != "10.77.0.1" {
			t.Errorf("it seems to come from %s", from)
		}
		got = append(got, onWire(t, c))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"198.51.100.2", "198.51.100.3"}) {
		t.Errorf("from %v", got)
	}
	none := netip.MustParseAddrPort("198.51.100.1:9")
	if a, err := OnWire(unix.IPPROTO_TCP, none, netip.MustParseAddrPort("10.96.0.9:2200")); a.IsValid() || err != nil {
		t.Errorf("of no connection: %v, %v", a, err)
	}
}

func TestWhereRulesSendWhatIsCalledIsListed(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	translatingNetwork(t)
	listen(t, "peer", "0.0.0.0:2200")
	listen(t, "peer", "[2001:db8:1::2]:2200")
	for range 2 {
		dial(t, "198.51.100.1", "10.96.0.9:2200")
	}
	dial(t, "198.51.100.1", "198.51.100.3:2200")
	dial(t, "2001:db8:1::1", "[2001:db8:96::9]:2200")
	var got []string
	list, err := Translations(t.Context(), func(t Translation) bool { return true })
	for _, found := range list {
		got = append(got, fmt.Sprint(found.Local, " ", found.Called, " ", found.Wire))
	}
	want := []string{"198.51.100.1 10.96.0.9:2200 198.51.100.2:2200", "2001:db8:1::1 [2001:db8:96::9]:2200 [2001:db8:1::2]:2200"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q", err, got)
	}
	if list, err := Translations(t.Context(), func(t Translation) bool { return t.Called.Addr().Is6() }); len(list) != 1 || err != nil {
		t.Errorf("wanted one: %v, %v", list, err)
	}
	listed := 0
	err = visitFlows(netip.IPv4Unspecified(), func([]byte) bool { listed++; return true }, onlyTranslated()...)
	if listed != 2 || err != nil { // two that were dialled by a service address
		t.Errorf("the kernel lists %d flows, %v", listed, err)
	}
}

// Flows to name servers are forgotten soon after the last question.
func TestQuestionIsRemembered(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	translatingNetwork(t)
	servers := []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("10.96.0.9"), netip.MustParseAddr("2001:db8:96::9")} // the first has no route
	run(t, "mount -t tmpfs tmpfs /sys/module", "mkdir /sys/module/nf_conntrack", "touch /sys/module/nf_conntrack/initstate")
	Ask(t.Context(), servers)
	run(t, "mkdir /sys/module/nf_nat")
	all := func(Translation) bool { return true }
	if list, err := Translations(t.Context(), all); len(list) != 0 || err != nil {
		t.Errorf("without NAT: %v, %v", list, err)
	}
	Ask(t.Context(), servers)
	list, err := Translations(t.Context(), all)
	var got []string
	for _, found := range list {
		got = append(got, found.Wire.String())
	}
	if want := []string{"198.51.100.2:53", "[2001:db8:1::2]:53"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

// Where nothing translates nothing is asked: a kernel may have no nf_conntrack_netlink that could answer.
func TestKernelWithoutNATIsNotAsked(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	translatingNetwork(t)
	listen(t, "peer", "0.0.0.0:2200")
	c := dial(t, "198.51.100.1", "10.96.0.9:2200")
	run(t, "mount -t tmpfs tmpfs /sys/module", "mkdir /sys/module/nf_conntrack")
	for _, step := range []struct {
		what, do, wire string
		translations   int
	}{
		{"connection tracking built in", "true", "198.51.100.2", 1},
		{"a module, and no NAT", "touch /sys/module/nf_conntrack/initstate", "", 0},
		{"a module, with NAT", "mkdir /sys/module/nf_nat", "198.51.100.2", 1},
	} {
		run(t, step.do)
		list, err := Translations(t.Context(), func(Translation) bool { return true })
		if wire := onWire(t, c); wire != step.wire || len(list) != step.translations || err != nil {
			t.Errorf("%s: %q, %v, %v", step.what, wire, list, err)
		}
	}
}

// Whoever calls many has no other left out without a word.
func TestTooManyTranslationsAreSaid(t *testing.T) {
	program := testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	var flows strings.Builder
	for a, n := netip.MustParseAddr("198.18.0.1"), 0; n <= maxTranslations; a, n = a.Next(), n+1 {
		fmt.Fprintf(&flows, "-I -p udp -s 192.0.2.1 -d %s --sport 5000 --dport 53 -g 192.0.2.53 -t 600 -u SEEN_REPLY\n", a)
	}
	path := testenv.Plant(t, map[string]string{"flows": flows.String()})
	if out, err := exec.Command(program, "-R", path+"/flows").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := func(Translation) bool { return true }
	if list, err := Translations(t.Context(), all); len(list) != maxTranslations || !errors.Is(err, errTooManyTranslations) {
		t.Errorf("%d, %v", len(list), err)
	}
	one := func(t Translation) bool { return t.Called.Addr() == netip.MustParseAddr("198.18.3.7") }
	if list, err := Translations(t.Context(), one); len(list) != 1 || err != nil || list[0].Wire != netip.MustParseAddrPort("192.0.2.53:53") {
		t.Errorf("%v, %v", list, err)
	}
}
