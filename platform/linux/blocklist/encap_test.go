// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/platform/linux/netattr"
)

func TestFarEndsThatRoutesNameAreProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add vx0 type vxlan external dstport 4789", "ip addr add 10.1.0.1/24 dev vx0", "ip addr add 2001:db8:1::1/64 dev vx0 nodad", "ip link set vx0 up",
		"ip route add default encap ip id 5 dst 192.0.2.7 via 10.1.0.2 dev vx0 onlink",
		"ip route add 203.0.113.0/24 table 1000 encap ip id 6 dst 192.0.2.8 via 10.1.0.2 dev vx0",
		"ip route add 203.0.113.0/24 encap ip6 id 7 dst 2001:db8::8 via 10.1.0.2 dev vx0",
		"ip -6 route add default encap ip6 id 5 dst 2001:db8::7 dev vx0",
		"ip route add 198.51.100.0/24 nexthop encap ip id 5 dst 192.0.2.17 via 10.1.0.2 dev vx0 nexthop encap ip id 5 dst 192.0.2.18 via 10.1.0.3 dev vx0",
		"ip nexthop add id 9 encap ip id 5 dst 192.0.2.27 via 10.1.0.4 dev vx0", "ip route add 198.18.0.0/24 nhid 9",
		"ip link add d0 type veth peer name d1", "ip link set d0 up", "ip link set d1 up", "ip -6 addr add 2001:db8:2::1/64 dev d0 nodad",
		"ip -6 route add 2001:db8:9::/64 encap seg6 mode encap segs 2001:db8::71,2001:db8::72 dev d0",
		"ip -6 route add 2000::/3 nexthop via 2001:db8:2::2 encap seg6 mode encap segs 2001:db8::73 dev d0 nexthop via 2001:db8:2::3 encap seg6 mode encap segs 2001:db8::74 dev d0",
		"ip nexthop add id 21 via 2001:db8:2::4 encap seg6 mode encap segs 2001:db8::75 dev d0", "ip -6 route add 2001:db8:10::/64 nhid 21",
	} {
		run(t, command)
	}
	gateways := []string{
		"10.1.0.2/32 is a gateway", "10.1.0.3/32 is a gateway", "10.1.0.4/32 is a gateway", "2001:db8::71/128 is a gateway", "2001:db8::72/128 is a gateway",
		"2001:db8::73/128 is a gateway", "2001:db8::74/128 is a gateway", "2001:db8::75/128 is a gateway",
	}
	ends := []string{"192.0.2.17/32", "192.0.2.18/32", "192.0.2.27/32", "192.0.2.7/32", "192.0.2.8/32", "2001:db8::7/128", "2001:db8::8/128"}
	for _, mode := range []string{"1", "0"} { // how the kernel shows nexthop objects
		run(t, "sysctl -qw net.ipv4.nexthop_compat_mode="+mode)
		s := NewHostContext("/")
		led, err := s.routes(t.Context())
		must(t, err)
		found, err := s.encaps(t.Context())
		must(t, err)
		at := map[string]bool{}
		all := append(led, found...)
		for _, p := range all {
			if p.Why == whyEncap {
				at[p.Prefix.String()] = true
			}
		}
		for _, g := range gateways {
			if !slices.Contains(reasons(all), g) {
				t.Errorf("mode %s: %q lacks %s", mode, reasons(all), g)
			}
		}
		if diff := cmp.Diff(ends, slices.Sorted(maps.Keys(at))); diff != "" {
			t.Errorf("mode %s: %s", mode, diff)
		}
	}
}

func TestRoutesAreReadAsTheyAre(t *testing.T) {
	s := &HostContext{kernel: quietKernel()}
	// struct rtmsg, RTA_ENCAP with LWTUNNEL_IP_DST and RTA_ENCAP_TYPE; of several, two in struct rtnexthop.
	const header, end, kind, segments = "02000000 fe000001 00000000", "0c001600 08000200 c00002", "06001500 02000000", "06001500 05000000"
	for name, c := range map[string]struct {
		messages []string
		want     string
		err      error
	}{
		"one, twice":          {[]string{header + end + "07" + kind, header + kind + end + "07"}, "192.0.2.7", nil},
		"of another kind":     {[]string{header + end + "07" + "06001500 06000000"}, "", nil},
		"of no kind":          {[]string{header + end + "07"}, "", nil},
		"unspecified":         {[]string{header + "0c001600 08000200 00000000" + kind}, "", nil},
		"several":             {[]string{header + "38000900 1c000000 02000000" + end + "08" + kind + "18000000 02000000" + end + "09" + "04000000"}, "192.0.2.8", nil},
		"an odd end":          {[]string{header + "0a001600 06000200 c0000000" + kind}, "", netattr.ErrFormat},
		"too short":           {[]string{"02000000"}, "", netattr.ErrFormat},
		"a hop that is short": {[]string{header + "0c000900 04000000 02000000"}, "", netattr.ErrFormat},
		"segments":            {[]string{header + "24001600 20000100 01000000 00020400 00000000 20010db8" + strings.Repeat("00", 11) + "07" + segments}, "2001:db8::7", nil},
		"segments cut short":  {[]string{header + "10001600 0c000100 01000000 00020400" + segments}, "", netattr.ErrFormat},
		"a hop that is long":  {[]string{header + "0c000900 40000000 02000000"}, "", netattr.ErrFormat},
	} {
		s.kernel.rawRoutes = func(visit func([]byte) bool) error {
			for _, m := range c.messages {
				visit(message(t, m))
			}
			return nil
		}
		list, err := s.encaps(t.Context())
		var got string
		for _, p := range list {
			got += p.Prefix.Addr().String()
		}
		if got != c.want || !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	s.kernel.rawRoutes = func(func([]byte) bool) error { return unix.EPERM }
	if _, err := s.encaps(t.Context()); !errors.Is(err, unix.EPERM) {
		t.Errorf("not to be read: %v", err)
	}
}

// An interface that takes its far ends from metadata has none that is not known where the routes into it name them.
func TestATunnelWhoseRoutesNameItsEndIsKnown(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add vx0 type vxlan external dstport 4789", "ip addr add 10.1.0.1/24 dev vx0", "ip link set vx0 up",
		"ip link add vx1 type vxlan external dstport 4790", "ip addr add 10.2.0.1/24 dev vx1", "ip link set vx1 up",
		"ip route add default encap ip id 5 dst 192.0.2.7 via 10.1.0.2 dev vx0", "ip route add default via 10.1.0.9 dev vx0 metric 9",
		"ip route add default encap ip id 5 dst 192.0.2.8 via 10.2.0.2 dev vx1 table 100",
	} {
		run(t, command)
	}
	doubts := func(want ...string) {
		t.Helper()
		list, err := NewHostContext("/").waysOut(t.Context())
		must(t, err)
		var got []string
		for _, p := range list {
			got = append(got, p.Unseen)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	doubt := "this machine reaches others by the tunnel vx0, and the other end of the tunnel vx0 is not known"
	doubts(doubt)
	run(t, "ip route del default via 10.1.0.9 dev vx0")
	doubts()
	run(t, "ip route add 128.0.0.0/1 nexthop encap ip id 5 dst 192.0.2.17 via 10.1.0.2 dev vx0 nexthop via 10.1.0.3 dev vx0")
	doubts(doubt)
}
