// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"slices"
	"testing"

	"sentinel/platform/linux/interfaces"
)

func TestOnlyWhatIsOfThisHostIsInner(t *testing.T) {
	up := func(index int, name, kind string, master int) interfaces.Link {
		return interfaces.Link{Index: index, Name: name, Kind: kind, Master: master, OperState: interfaces.OperUp}
	}
	pair := func(index int, name string, master int) interfaces.Link {
		l := up(index, name, "veth", master)
		l.Abroad = true
		return l
	}
	lo := up(1, "lo", "", 0)
	lo.Flags = interfaces.FlagLoopback
	eth, wg := up(2, "eth0", "", 0), up(3, "wg0", "wireguard", 0)
	down := eth
	down.OperState = 2 // IF_OPER_DOWN
	for name, c := range map[string]struct {
		all  []interfaces.Link
		want []string
	}{
		"a host of containers":            {[]interfaces.Link{lo, eth, wg, up(4, "docker0", "bridge", 0), pair(5, "veth1", 4), pair(6, "cali1", 0)}, []string{"docker0", "cali1"}},
		"a host of machines":              {[]interfaces.Link{lo, eth, up(4, "virbr0", "bridge", 0), up(5, "vnet0", "tun", 4)}, []string{"virbr0"}},
		"machines in the network outside": {[]interfaces.Link{lo, up(2, "eth0", "", 4), up(4, "br0", "bridge", 0), up(5, "vnet0", "tun", 4)}, nil},
		"a VPN of a process":              {[]interfaces.Link{lo, eth, up(4, "tun0", "tun", 0)}, nil},
		"a pair with both ends here":      {[]interfaces.Link{lo, eth, up(4, "veth0", "veth", 0)}, nil},
		"a container":                     {[]interfaces.Link{lo, pair(2, "eth0", 0), wg, up(4, "br0", "bridge", 0), pair(5, "eth1", 4)}, nil},
		"hardware without a cable":        {[]interfaces.Link{lo, down, up(4, "br0", "bridge", 0), pair(5, "eth1", 4)}, nil},
	} {
		var got []string
		for _, l := range linksOf(c.all) {
			if l.Inner {
				got = append(got, l.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
