// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/blocklist"
	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
)

// The kernel's own tunnels, whoever comes through them.
func TestFarEndsOfKernelTunnelsAreProtected(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add d0 type veth peer name p0", "ip link set d0 up", "ip link set p0 up", "ip addr add 192.0.2.1/24 dev d0",
		"ip link add vx0 type vxlan id 5 remote 192.0.2.9 dstport 4789", "ip link add vx1 type vxlan id 6 remote 2001:db8::9 dstport 4790",
		"ip link add vx2 type vxlan id 7 dstport 4791 local 192.0.2.1", "bridge fdb append 00:00:00:00:00:00 dev vx2 dst 192.0.2.8",
	} {
		run(t, command)
	}
	found := protectedBelow(t, "/")
	for end, tunnel := range map[string]string{"192.0.2.9/32": "vx0", "2001:db8::9/128": "vx1", "192.0.2.8/32": "vx2"} {
		if want := "the other end of the tunnel " + tunnel; found[end] != want {
			t.Errorf("%s is %q, want %q", end, found[end], want)
		}
	}
}

// A packet of VXLAN is nobody's word: where it seems to come from is no end of the tunnel.
func TestWhatAVXLANLearnsIsNotProtected(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"mount -t tmpfs tmpfs /run", "mkdir -p /run/netns", "ip netns add peer", "ip link add d0 type veth peer name p0 netns peer",
		"ip link set d0 up", "ip -n peer link set p0 up", "ip addr add 192.0.2.1/24 dev d0", "ip -n peer addr add 192.0.2.66/24 dev p0",
		"ip link add vx0 type vxlan id 42 local 192.0.2.1 remote 192.0.2.9 dstport 4789", "ip link set vx0 up",
		"bridge fdb append 02:00:00:00:00:07 dev vx0 dst 192.0.2.7 self permanent", "bridge fdb append 02:00:00:00:00:08 dev vx0 dst 192.0.2.8 self static",
		"bridge fdb append 02:00:00:00:00:05 dev vx0 dst 192.0.2.5 self dynamic extern_learn",
	} {
		run(t, command)
	}
	frame := message(t, "08000000 00002a00 ffffffffffff 026666666666 88b5"+strings.Repeat("00", 50))
	testenv.WaitFor(t, "the sender is learned", func() bool {
		at(t, "peer", func() {
			conn, err := net.Dial("udp", "192.0.2.1:4789")
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.Write(frame)
		})
		return strings.Contains(run(t, "bridge fdb show dev vx0"), "192.0.2.66")
	})
	found := protectedBelow(t, "/")
	for _, end := range []string{"192.0.2.9/32", "192.0.2.7/32", "192.0.2.8/32", "192.0.2.5/32"} {
		if want := "the other end of the tunnel vx0"; found[end] != want {
			t.Errorf("%s is %q, want %q", end, found[end], want)
		}
	}
	if why, protected := found["192.0.2.66/32"]; protected {
		t.Errorf("the sender of a packet is %q", why)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func message(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	must(t, err)
	return b
}

func TestFarEndsOfTheWaysOutAreProtected(t *testing.T) {
	far, refused := netip.MustParseAddr("192.0.2.9"), errors.New("not permitted")
	s := NewHostContext(t.TempDir())
	s.out = func(context.Context) ([]sessions.Tunnel, error) {
		return []sessions.Tunnel{{Interface: "tun7", Addresses: []netip.Addr{far}}, {Interface: "tun8", Unknown: "nobody is seen"}}, refused
	}
	list, err := s.ProtectedAddrs(t.Context())
	for _, want := range []blocklist.ProtectedAddr{
		blocklist.Protect(far, "the other end of the tunnel tun7, by which this machine reaches others"),
		{Unseen: "this machine reaches others by the tunnel tun8, and nobody is seen"},
	} {
		if !slices.Contains(list, want) || !errors.Is(err, refused) {
			t.Errorf("%+v is not in %+v, %v", want, list, err)
		}
	}
}
