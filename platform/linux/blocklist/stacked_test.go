// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"net"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/platform/linux/interfaces"
)

// A blocked host reaches a container that has an address at an interface of this machine, and the answer says so.
func TestContainersAtAnInterfaceAreBeyondABlock(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"mount -t sysfs sysfs /sys", "mount -t tmpfs tmpfs /run", "mkdir -p /run/netns", "ip netns add c", "ip netns add other",
		"ip link add e2 type veth peer name e3 netns other", "ip link set e2 up", "ip -n other link set e3 up",
		"ip link add own0 link e2 type macvlan mode bridge", "ip link set own0 up",
		"ip link add mv0 link e2 netns c type macvlan mode bridge",
		"ip -n c addr add 10.2.0.50/24 dev mv0", "ip -n other addr add 10.2.0.77/24 dev e3",
	} {
		run(t, command)
	}
	if said := NewNftables().Abilities().Beyond(); said != "" {
		t.Errorf("one that is down: %s", said)
	}
	run(t, "ip -n c link set mv0 up")
	run(t, "ip -n c link set lo up")
	run(t, "nft add table inet none")
	run(t, "nft add chain inet none in { type filter hook prerouting priority -300 ; policy drop ; }")
	reachesBesideRules(t, "other", "c", "10.2.0.50:8080")
	for _, b := range []string{"nftables", "iptables-nft"} {
		if said := backendOf(b).Abilities().Beyond(); !strings.Contains(said, "macvlan") || !strings.HasSuffix(said, " from e2.") {
			t.Errorf("%s: %q", b, said)
		}
	}
}

// reachesBesideRules connects two other network namespaces, with rules in this one that drop everything.
func reachesBesideRules(t *testing.T, from, to, address string) {
	t.Helper()
	testenv.InNetworkNamespace(t, "/run/netns/"+to, func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { l.Close() })
	})
	testenv.InNetworkNamespace(t, "/run/netns/"+from, func() {
		c, err := net.DialTimeout("tcp", address, testenv.HangLimit)
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	})
}

func TestInterfacesThatHandOverFramesAreFound(t *testing.T) {
	own, other, guest := []byte{2, 0, 0, 0, 0, 1}, []byte{2, 0, 0, 0, 0, 2}, []byte{2, 0, 0, 0, 0, 3}
	e := interfaces.Link{Index: 2, Name: "eth0", MAC: own}
	on := func(kind string, mac []byte) interfaces.Link {
		return interfaces.Link{Index: 3, Name: "up0", Kind: kind, Lower: 2, MAC: mac}
	}
	for name, c := range map[string]struct {
		links  []interfaces.Link
		takes  []byte
		handed bool
	}{
		"nothing":             {[]interfaces.Link{e}, nil, false},
		"macvlan elsewhere":   {[]interfaces.Link{e, on("macvlan", guest)}, other, true},
		"macvlan here":        {[]interfaces.Link{e, on("macvlan", other)}, other, false},
		"VLAN here":           {[]interfaces.Link{e, on("vlan", other)}, other, false},
		"ipvlan elsewhere":    {[]interfaces.Link{e}, own, true},
		"ipvlan here":         {[]interfaces.Link{e, on("ipvlan", own)}, own, false},
		"macvtap":             {[]interfaces.Link{e, on("macvtap", guest)}, guest, true},
		"ipvtap that is down": {[]interfaces.Link{e, on("ipvtap", own)}, nil, true},
	} {
		var filters []interfaces.Filter
		if c.takes != nil {
			filters = []interfaces.Filter{{Index: 2, MAC: c.takes}}
		}
		if got := handingOver(c.links, filters); slices.Contains(got, "eth0") != c.handed {
			t.Errorf("%s: %q", name, got)
		}
	}
}
