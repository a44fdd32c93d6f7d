// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"io/fs"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/testenv"
)

func TestDefaultPolicyIsThatOfEachProtocol(t *testing.T) {
	drop := func(family string) firewall.Chain {
		return firewall.Chain{Family: family, Table: "filter", Name: "input", Input: true, DropPolicy: true}
	}
	rest := []firewall.Rule{{Action: firewall.Drop}}
	accept := firewall.Chain{Family: "inet", Table: "filter", Name: "input", Input: true, Drops: true, Rules: rest}
	helper := firewall.Chain{Family: "inet", Table: "raw", Name: "PREROUTING", Input: true, Drops: true, Rules: []firewall.Rule{{Action: firewall.Drop, Matches: func(p firewall.Packet) firewall.Match { return firewall.Is(p.Port == 8080) }}}}
	unclear := firewall.Chain{Family: "inet", Table: "filter", Name: "input", Input: true, Drops: true, Rules: []firewall.Rule{{Action: firewall.Drop, Matches: func(firewall.Packet) firewall.Match { return firewall.Unsure }}}}
	firewalld := firewall.Chain{Family: "inet", Table: "firewalld", Name: "filter_INPUT", Input: true, Drops: true, Jumps: []string{"zone"}, Rules: rest}
	zone := firewall.Chain{Family: "inet", Table: "firewalld", Name: "zone", Drops: true}
	zones := firewall.Chain{Family: "inet", Table: "firewalld", Name: "filter_INPUT_ZONES", Jumps: []string{"filter_IN_trusted", "filter_IN_public"}}
	v6 := map[string]string{"proc/net/if_inet6": ""}
	with := func(more map[string]string) map[string]string { more["proc/net/if_inet6"] = ""; return more }
	const public, trusted = "usr/lib/firewalld/zones/public.xml", "usr/lib/firewalld/zones/trusted.xml"
	for _, c := range []struct {
		name   string
		chains []firewall.Chain
		files  map[string]string
		want   audit.Status
		words  string
	}{
		{"both", []firewall.Chain{drop("inet")}, v6, audit.Pass, ""},
		{"each", []firewall.Chain{drop("ip"), drop("ip6")}, v6, audit.Pass, ""},
		{"IPv4 alone", []firewall.Chain{drop("ip")}, v6, audit.Warn, "IPv6"},
		{"IPv4 alone, without IPv6", []firewall.Chain{drop("ip")}, map[string]string{"proc/": ""}, audit.Pass, ""},
		{"IPv4 alone, and rules about one port", []firewall.Chain{drop("ip"), helper}, v6, audit.Warn, "IPv6"},
		{"rules that do not tell", []firewall.Chain{unclear}, v6, "", "do not tell"},
		{"rules that drop", []firewall.Chain{accept}, v6, "", "last rule"},
		{"firewalld", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone/>"}), audit.Pass, ""},
		{"firewalld with an interface that it trusts", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone/>", "etc/firewalld/zones/trusted.xml": `<zone target="ACCEPT"><interface name="eth0"/></zone>`, trusted: `<zone target="ACCEPT"/>`}), "", "last rule"},
		{"firewalld with a source that it trusts", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone/>", trusted: `<zone target="ACCEPT"><source address="0.0.0.0/0"/></zone>`}), "", "last rule"},
		{"firewalld with a zone that nothing is in", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone/>", trusted: `<zone target="ACCEPT"/>`}), audit.Pass, ""},
		{"firewalld with a zone that NetworkManager fills", []firewall.Chain{firewalld, zones, zone}, with(map[string]string{public: "<zone/>", trusted: `<zone target="ACCEPT"/>`}), "", "last rule"},
		{"firewalld with the zone of Docker", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone/>", "etc/firewalld/zones/docker.xml": `<zone target="ACCEPT"><interface name="docker0"/></zone>`}), audit.Pass, ""},
		{"firewalld with a zone that hides another", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone/>", "etc/firewalld/zones/trusted.xml": "<zone/>", trusted: `<zone target="ACCEPT"><interface name="eth0"/></zone>`}), audit.Pass, ""},
		{"firewalld that trusts everyone", []firewall.Chain{firewalld, zone}, with(map[string]string{"etc/firewalld/firewalld.conf": "DefaultZone=trusted\n", trusted: `<zone target="ACCEPT"/>`}), "", "last rule"},
		{"firewalld with a zone that is no XML", []firewall.Chain{firewalld, zone}, with(map[string]string{public: "<zone"}), "", "last rule"},
		{"firewalld with a zone elsewhere", []firewall.Chain{firewalld, zone}, with(map[string]string{"etc/firewalld/firewalld.conf": "DefaultZone=../../x\n"}), "", "last rule"},
	} {
		f := one(t, "firewall.default_deny", Parts{Root: testenv.Plant(t, c.files), Firewall: packetFilter{firewall.Facts{Chains: c.chains}}})
		if f.Status != c.want || !strings.Contains(f.Value+f.Reason, c.words) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
	if f := one(t, "firewall.active", Parts{Root: "/none", Firewall: packetFilter{firewall.Facts{Unreadable: fs.ErrPermission}}}); f.Status != "" || !f.Applies {
		t.Errorf("unreadable: %+v", f)
	}
}
