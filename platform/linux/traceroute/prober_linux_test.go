// SPDX-License-Identifier: Apache-2.0

package traceroute

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sentinel/internal/target"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/testnet"
	"sentinel/internal/traceroute"
	"sentinel/platform/linux/errqueue"
)

// lineOfHosts connects this machine with three others in a row, the last of which is
// the end of every route.
func lineOfHosts(t *testing.T) (hosts []*testnet.Host) {
	t.Helper()
	hosts = []*testnet.Host{testnet.ThisHost(t), testnet.NewHost(t), testnet.NewHost(t), testnet.NewHost(t)}
	for n := range 3 {
		testnet.Connect(hosts[n], hosts[n+1], n)
	}
	forward(hosts[1], hosts[2])
	hosts[0].Run("ip route add default via 192.0.2.2")
	hosts[0].Run("ip route add default via 2001:db8::2")
	hosts[1].Run("ip route add default via 192.0.2.6")
	hosts[1].Run("ip route add default via 2001:db8:1::2")
	hosts[2].Run("ip route add 192.0.2.0/30 via 192.0.2.5")
	hosts[2].Run("ip route add 2001:db8::/64 via 2001:db8:1::1")
	hosts[3].Run("ip route add default via 192.0.2.9")
	hosts[3].Run("ip route add default via 2001:db8:2::1")
	learnNeighbours(t, route6[2])
	return hosts
}

// learnNeighbours waits until the neighbours on the route know each other: the first
// question for one over IPv6 gets lost while its interface comes up.
func learnNeighbours(t *testing.T, end string) {
	t.Helper()
	testenv.WaitFor(t, end, func() bool {
		responses, err := Prober{}.Probe(t.Context(), netip.MustParseAddr(end), []int{3}, 2*time.Second)
		return err == nil && responses[0].Reached && responses[0].RTT < 500*time.Millisecond
	})
}

func forward(hosts ...*testnet.Host) {
	for _, h := range hosts {
		h.Run("sysctl -q -w net.ipv4.ip_forward=1")
		h.Run("sysctl -q -w net.ipv6.conf.all.forwarding=1")
	}
}

func traceTo(t *testing.T, address string) traceroute.Route {
	t.Helper()
	to, err := target.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	route, err := traceroute.Trace(t.Context(), traceroute.Sources{Resolver: net.DefaultResolver, Prober: Prober{}}, to)
	if err != nil {
		t.Fatal(err)
	}
	return route
}

// addresses are those of each hop; an answer takes some time, and at most a
// second here.
func addresses(t *testing.T, r traceroute.Route) (list []string) {
	t.Helper()
	for i, h := range r.Hops {
		if h.Hop != i+1 || h.Sent != traceroute.Probes || h.LossPercent != 100*(h.Sent-len(h.LatencyMS))/h.Sent {
			t.Errorf("%+v", h)
		}
		if slices.ContainsFunc(h.LatencyMS, func(ms float64) bool { return ms <= 0 || ms > 1000 }) {
			t.Errorf("%+v", h)
		}
		if len(h.Addresses) != 1 {
			list = append(list, "*")
			continue
		}
		list = append(list, h.Addresses[0])
	}
	return list
}

var (
	route4 = []string{"192.0.2.2", "192.0.2.6", "192.0.2.10"}
	route6 = []string{"2001:db8::2", "2001:db8:1::2", "2001:db8:2::2"}
)

func TestARouteThroughThreeHosts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	lineOfHosts(t)
	testenv.Become(t, testenv.Nobody)
	for end, want := range map[string][]string{"192.0.2.10": route4, "2001:db8:2::2": route6, "192.0.2.2": route4[:1], "127.0.0.1": {"127.0.0.1"}, "::1": {"::1"}} {
		r := traceTo(t, end)
		if got := addresses(t, r); !slices.Equal(got, want) || !r.Reached || r.HopsTotal != len(want) || len(r.Unavailable) != 0 {
			t.Errorf("%s: %q, %+v", end, got, r)
		}
		for _, h := range r.Hops {
			if h.LossPercent != 0 || h.Note != "" {
				t.Errorf("%s: %+v", end, h)
			}
		}
	}
}

func TestASilentHostOnTheRouteIsAHopWithoutAddress(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	hosts := lineOfHosts(t)
	hosts[1].Rules(`table inet wall {
	chain output {
		type filter hook output priority 0; policy accept
		icmp type time-exceeded drop
		icmpv6 type time-exceeded drop
	}
}`)
	for end, want := range map[string][]string{"192.0.2.10": route4, "2001:db8:2::2": route6} {
		r := traceTo(t, end)
		if got := addresses(t, r); !slices.Equal(got, []string{"*", want[1], want[2]}) || !r.Reached || r.Hops[0].LossPercent != 100 || r.Hops[2].LossPercent != 0 {
			t.Errorf("%s: %+v", end, r)
		}
	}
}

func TestARouteThatEndsBeforeTheTarget(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	hosts := lineOfHosts(t)
	hosts[2].Rules(`table inet wall {
	chain forward {
		type filter hook forward priority 0; policy accept
		# It looks at packets that have a hop left.
		ip daddr 192.0.2.10 reject with icmp type admin-prohibited
		ip6 daddr 2001:db8:2::2 reject with icmpv6 type admin-prohibited
		ip daddr 198.51.100.0/24 drop
	}
}`)
	for end, want := range map[string][]string{"192.0.2.10": route4, "2001:db8:2::2": route6} {
		r := traceTo(t, end)
		if got := addresses(t, r); !slices.Equal(got, []string{want[0], want[1], want[1]}) || r.Reached || r.Hops[2].Note != "forbidden by a firewall" || len(r.Unavailable) != 1 {
			t.Errorf("%s: %+v", end, r)
		}
	}
	for end, want := range map[string][]string{"203.0.113.7": route4, "2001:db8:99::1": route6} {
		r := traceTo(t, end)
		if got := addresses(t, r); !slices.Equal(got, want[:2]) || r.Reached || r.Hops[1].Note != "network unreachable" {
			t.Errorf("%s: %+v", end, r)
		}
	}
	hosts[2].Run("ip route add default via 192.0.2.10")
	r := traceTo(t, "198.51.100.7")
	if got := addresses(t, r); !slices.Equal(got, route4[:2]) || r.Reached {
		t.Errorf("%+v", r)
	}
}

// A service that answers at the port of a packet is the target, too.
func TestAServiceThatAnswersIsTheEndOfTheRoute(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	hosts := lineOfHosts(t)
	var c net.PacketConn
	var err error
	hosts[3].Do(func() { c, err = net.ListenPacket("udp4", "192.0.2.10:33436") })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			c.WriteTo(b[:n], from)
		}
	}()
	if r := traceTo(t, "192.0.2.10"); !r.Reached || !slices.Equal(addresses(t, r), route4) {
		t.Errorf("%+v", r)
	}
}

func TestProbesThatCannotBeSent(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, end := range []string{"203.0.113.7", "2001:db8::7"} {
		_, err := Prober{}.Probe(t.Context(), netip.MustParseAddr(end), []int{1}, time.Second)
		if !errors.Is(err, traceroute.ErrNoRoute) {
			t.Errorf("%s: %v", end, err)
		}
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Rules("table inet wall { chain input { type filter hook input priority 0; drop; }\n}")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := (Prober{}).Probe(ctx, netip.MustParseAddr("192.0.2.2"), []int{1}, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

var loopback = netip.MustParseAddr("127.0.0.1")

func FuzzParseError(f *testing.F) {
	f.Add([]byte("0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00q\x00\x00\x00\x02\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\xc0\x00\x02\x02\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, oob []byte) {
		e, err := errqueue.Parse(oob)
		if err == nil && responseTo(e, loopback).Rejected == "" && e.Type == unreachable4 && !e.V6 && e.From != loopback {
			t.Errorf("%+v is not rejected, and not from the target", e)
		}
	})
}
