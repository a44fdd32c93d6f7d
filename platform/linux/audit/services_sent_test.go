// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"net/netip"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/testenv"
)

// What rules send to a container has no socket here, so that nothing is no finding.
func TestWhatRulesSendOnIsNotPassedOver(t *testing.T) {
	rules := make([]firewall.Rule, 5)
	for i := range rules {
		rules[i] = firewall.Rule{Action: firewall.Divert, Matches: func(firewall.Packet) firewall.Match { return firewall.Unsure },
			Target: netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 17, 0, byte(i + 2)}), 6379)}
	}
	chain := firewall.Chain{Family: "ip", Table: "nat", Name: "DOCKER", Hook: firewall.Translation, Rules: rules[:1]}
	p := Parts{Root: testenv.Plant(t, nil), Sockets: testSockets{}, Firewall: packetFilter{firewall.Facts{Chains: []firewall.Chain{chain}}}}
	const sent = "the packet filter sends packets on to other hosts or containers, whose services are not looked at: "
	for _, id := range []string{"services.internal", "services.cleartext", "services.exposed"} {
		if f := one(t, id, p); f.Status != "" || f.Reason != sent+"ip nat DOCKER to 172.17.0.2:6379" {
			t.Errorf("%s: %+v", id, f)
		}
	}
	chain.Rules = rules
	p.Firewall = packetFilter{firewall.Facts{Chains: []firewall.Chain{chain}}}
	p.Sockets = testSockets{{network.TCP, "0.0.0.0:6379", ""}}
	want := "1 internal service listens: Redis; not all was read: " + sent + "ip nat DOCKER to 172.17.0.2:6379, ip nat DOCKER to 172.17.0.3:6379, ip nat DOCKER to 172.17.0.4:6379 and 2 more"
	if f := one(t, "services.internal", p); f.Status != audit.Fail || f.Value != want {
		t.Errorf("%+v, want %s", f, want)
	}
}
