// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"testing"

	"github.com/google/nftables"
)

func TestDropsForContainersAreNoFirewallOfTheHost(t *testing.T) {
	chain := func(table string, policy nftables.ChainPolicy) *nftables.Chain {
		return &nftables.Chain{
			Name: "PREROUTING", Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPrerouting, Policy: &policy,
			Table: &nftables.Table{Name: table, Family: nftables.TableFamilyIPv4},
		}
	}
	for _, c := range []struct {
		chain *nftables.Chain
		want  bool
	}{
		{chain("raw", nftables.ChainPolicyAccept), false},
		{chain("raw", nftables.ChainPolicyDrop), true},
		{chain("pre", nftables.ChainPolicyAccept), true},
	} {
		if got := isInput(c.chain); got != c.want {
			t.Errorf("table %s, policy %d: %v, want %v", c.chain.Table.Name, *c.chain.Policy, got, c.want)
		}
	}
}
