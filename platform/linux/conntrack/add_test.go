// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"context"
	"math"
	"net"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// added is the connection of a socket.
func added(c net.Conn) Connection {
	return Connection{c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()}
}

// flows are those of one port.
func flows(t *testing.T, port uint16) (list []flow) {
	t.Helper()
	for _, family := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		err := visitFlows(family, func(b []byte) bool {
			if f, err := parseFlow(b); err == nil && slices.Contains([]uint16{f.original.toPort, f.original.fromPort}, port) {
				list = append(list, f)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestConnectionsAreAddedOnceAndAsTheyAre(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	unseen := []Connection{
		{netip.MustParseAddrPort("198.51.100.1:5000"), netip.MustParseAddrPort("198.51.100.2:2222")},
		{netip.MustParseAddrPort("[2001:db8:1::1]:5000"), netip.MustParseAddrPort("[2001:db8:1::2]:2222")},
		{netip.MustParseAddrPort("[fe80::1%eth0]:5000"), netip.MustParseAddrPort("[fe80::2%eth0]:2222")},
	}
	for range 2 {
		if left := Add(t.Context(), unseen); left != 0 {
			t.Errorf("%d are left", left)
		}
		got := flows(t, 2222)
		if len(got) != len(unseen) || slices.ContainsFunc(got, func(f flow) bool { return !f.answered || f.original.protocol != unix.IPPROTO_TCP }) {
			t.Errorf("the flows are %+v", got)
		}
	}

	// A flow whose addresses are translated is known by others than those of the socket.
	translatingNetwork(t)
	listen(t, "peer", "0.0.0.0:2200")
	c := dial(t, "198.51.100.1", "10.96.0.9:2200")
	before := flows(t, 2200)
	if left := Add(t.Context(), []Connection{added(c)}); left != 0 || len(before) != 1 || !slices.Equal(flows(t, 2200), before) {
		t.Errorf("%d are left; %+v became %+v", left, before, flows(t, 2200))
	}
}

func TestConnectionsThatCannotBeAddedAreCounted(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mixed := Connection{netip.MustParseAddrPort("[2001:db8::1]:22"), netip.MustParseAddrPort("192.0.2.1:4000")}
	whole := Connection{netip.MustParseAddrPort("192.0.2.2:22"), netip.MustParseAddrPort("192.0.2.1:4000")}
	if left := Add(t.Context(), []Connection{mixed, whole}); left != 1 {
		t.Errorf("%d are left, want the one that is none", left)
	}
	at := func(n byte) Connection {
		return Connection{netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 22), whole.Remote}
	}
	if left := add(t.Context(), []Connection{whole, at(3), at(4), at(3), whole, at(5)}, func() int { return 1 }); left != 2 {
		t.Errorf("%d are left, want those that there is no room for", left)
	}
	if left := Add(t.Context(), []Connection{at(3), at(4), at(5)}); left != 0 {
		t.Errorf("%d are left with room", left)
	}
	if n := room(); n <= 0 || n == math.MaxInt {
		t.Errorf("there is room for %d", n)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if left := Add(ctx, []Connection{mixed, whole}); left != 2 {
		t.Errorf("%d are left at the end of the time", left)
	}
}
