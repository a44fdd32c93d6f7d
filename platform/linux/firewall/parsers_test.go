// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/firewall"
)

func tcp(n uint16) firewall.Port { return firewall.Port{Number: n, Protocol: "tcp"} }

func udp(n uint16) firewall.Port { return firewall.Port{Number: n, Protocol: "udp"} }

// added is what ufw 0.36.2 printed for these rules.
const added = `Added user rules (see 'ufw status' for running firewall):
ufw allow 2222/tcp
ufw limit 22/tcp
ufw deny 80
ufw allow from 192.0.2.0/24 to any port 443 proto tcp
ufw allow 6000:6007/udp
ufw allow in on eth0 to any port 99
ufw reject log 25/tcp comment 'a b # c'
ufw allow 80,443/tcp
ufw allow SSH
ufw deny 110/tcp
`

func TestRulesOfUFWDecideInOrder(t *testing.T) {
	rules := parseAdded([]byte(added))
	for port, want := range map[firewall.Port]firewall.Verdict{
		tcp(2222): firewall.Open, udp(2222): firewall.Closed, tcp(22): firewall.Open, tcp(80): firewall.Refused, udp(80): firewall.Refused,
		tcp(443): firewall.Open, udp(6000): firewall.Open, udp(6007): firewall.Open, udp(6008): firewall.Closed, tcp(6000): firewall.Closed,
		tcp(99): firewall.Closed, tcp(25): firewall.Refused, tcp(110): firewall.Refused, tcp(1): firewall.Closed,
	} {
		if got := decide(rules, port, nil).verdict; got != want {
			t.Errorf("%s: %d, want %d", port, got, want)
		}
	}
}

func TestRulesOfUFWInTheirOtherForms(t *testing.T) {
	peers := []netip.Addr{netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2001:db8::7")}
	for text, want := range map[string]firewall.Verdict{
		"ufw allow from any to any port 22 proto tcp":            firewall.Open,
		"ufw deny from any to any port 22":                       firewall.Refused,
		"ufw deny in 22":                                         firewall.Refused,
		"ufw deny from any":                                      firewall.Closed,
		"ufw deny to any proto tcp":                              firewall.Closed,
		"ufw deny from any to any":                               firewall.Closed,
		"ufw reject 20:30/tcp":                                   firewall.Refused,
		"ufw deny from 203.0.113.9":                              firewall.Closed,
		"ufw deny from 203.0.113.9 to any port 22":               firewall.Closed,
		"ufw deny in on eth0 from 203.0.113.9 to any port 22":    firewall.Closed,
		"ufw deny from 198.51.100.0/24 to any port 22":           firewall.Refused,
		"ufw deny in on eth0 from 198.51.100.7":                  firewall.Refused,
		"ufw deny from 198.51.100.0/24 to any port 22 proto udp": firewall.Closed,
		"ufw deny from 2001:db8::/32":                            firewall.Refused,
		"ufw deny in on eth0":                                    firewall.Refused,
		"ufw deny in on eth0 to any port 22 proto tcp":           firewall.Refused,
		"ufw deny in on eth0 to any port 80":                     firewall.Closed,
		"ufw deny to 192.0.2.1 port 22":                          firewall.Refused,
		"ufw deny to 192.0.2.1 port 23":                          firewall.Closed,
		"ufw deny OpenSSH":                                       firewall.Refused,
		"ufw deny 'Apache Full'":                                 firewall.Refused,
		"ufw allow OpenSSH":                                      firewall.Closed,
		"ufw deny from 203.0.113.9\nufw deny to any":             firewall.Refused,
		"ufw allow in on eth0 to any port 22\nufw deny 22":       firewall.Refused,
		"ufw limit 22/tcp\nufw deny in on eth0":                  firewall.Open,
		"ufw deny out 22/tcp":                                    firewall.Closed,
		"ufw deny 22/udp":                                        firewall.Closed,
		"ufw deny to any proto udp":                              firewall.Closed,
		"ufw allow from any proto gre":                           firewall.Closed,
		"ufw deny from any proto gre":                            firewall.Closed,
		"ufw allow from any port 22 to any":                      firewall.Closed,
		"ufw route deny in on eth0":                              firewall.Closed,
		"ufw route allow 22":                                     firewall.Closed,
		"ufw allow 22/tcp comment 'deny from any'":               firewall.Open,
		"ufw allow log-all 22/tcp":                               firewall.Open,
		"allow 22/tcp":                                           firewall.Closed,
		"ufw allow":                                              firewall.Closed,
		"ufw allow 0:70000/tcp":                                  firewall.Closed,
		"ufw allow 30:20/tcp":                                    firewall.Closed,
		"ufw allow from any to any port 22 proto":                firewall.Closed,
		"ufw deny log from any to any port 22 proto tcp":         firewall.Refused,
	} {
		if got := decide(parseAdded([]byte(text+"\n")), tcp(22), peers).verdict; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestRuleOfUFWIsNamedAsItWasWritten(t *testing.T) {
	for text, fix := range map[string]string{
		"ufw deny 22":                            "sudo ufw delete deny 22.",
		"ufw deny in on eth0":                    "sudo ufw delete deny in on eth0.",
		"ufw reject log 22/tcp comment 'it's x'": "sudo ufw delete reject log 22/tcp.",
		"ufw deny 'Apache Full'":                 "sudo ufw delete deny 'Apache Full'.",
	} {
		if r := decide(parseAdded([]byte(text+"\n")), tcp(22), nil).ruling(); r.Verdict != firewall.Refused || !strings.HasSuffix(r.Fix, fix) {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestLastWordOfUFWIsGotRound(t *testing.T) {
	for text, want := range map[string]bool{
		"ufw allow 80\nufw deny to any\n": true, "ufw reject to any proto tcp\n": true, "ufw deny from 203.0.113.9\nufw deny to any\n": false, "ufw deny 22\n": false, "": false,
	} {
		if d := decide(parseAdded([]byte(text)), tcp(22), nil); d.first != want {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func TestProfilesOfUFW(t *testing.T) {
	for text, want := range map[string]spans{
		"Profile: OpenSSH\nTitle: x\nDescription: 1\n\nPort:\n  22/tcp\n":            {{22, 22, "tcp"}},
		"Profile: Apache Full\nPorts:\n  80,443/tcp\n  53\nTitle: Ports:\n  9/tcp\n": {{80, 80, "tcp"}, {443, 443, "tcp"}, {53, 53, ""}},
		"ERROR: Could not find a profile\n":                                          nil,
	} {
		if got := parseProfile([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzUFW(f *testing.F) {
	f.Add(added)
	f.Add("ufw allow from any to any port 22 proto tcp")
	f.Add("ufw deny in on eth0 from 192.0.2.0/24 to any app 'Apache Full'")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range parseAdded([]byte(text)) {
			if !strings.Contains(text, r.text) || r.ports != nil && r.app != "" {
				t.Errorf("%+v", r)
			}
			for _, span := range r.ports {
				if span.from == 0 || span.from > span.to {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}

// zoneList is from firewalld 1.3.3, "--list-all-zones", cut to a few.
const zoneList = `block
  target: %%REJECT%%
  icmp-block-inversion: no
  interfaces: 
  sources: 
  services: 
  ports: 
  rich rules: 

public (default, active)
  target: default
  icmp-block-inversion: no
  interfaces: eth0
  sources: 
  services: dhcpv6-client ssh
  ports: 5900-5910/tcp 77/udp
  protocols: 
  forward: yes
  forward-ports: 
	port=80:proto=tcp:toport=8080:toaddr=
  source-ports: 
  rich rules: 
	rule family="ipv4" source address="192.0.2.1" accept

trusted
  target: ACCEPT
  interfaces: 
  sources: 198.51.100.0/24
  services: 
  ports: 
`

func TestZonesOfFirewalld(t *testing.T) {
	want := []zone{
		{name: "block", target: "%%REJECT%%", services: []string{}},
		{name: "public", bound: true, target: "default", services: []string{"dhcpv6-client", "ssh"}, ports: spans{{5900, 5910, "tcp"}, {77, 77, "udp"}},
			forwards: []string{"port=80:proto=tcp:toport=8080:toaddr="}, rich: []rich{{text: `rule family="ipv4" source address="192.0.2.1" accept`, source: "192.0.2.1"}}},
		{name: "trusted", bound: true, target: "ACCEPT", services: []string{}},
	}
	if diff := cmp.Diff(want, parseZones([]byte(zoneList)), cmp.AllowUnexported(zone{}, span{}, rich{})); diff != "" {
		t.Error(diff)
	}
	if got := parseService([]byte("ssh\n  ports: 22/tcp\n  protocols: \n  source-ports: \n  destination: \n")); !got.has(tcp(22)) || got.has(udp(22)) {
		t.Errorf("got %v", got)
	}
}

func TestRulesOfAZoneThatShutAPort(t *testing.T) {
	peers := []netip.Addr{netip.MustParseAddr("192.0.2.2")}
	for text, want := range map[string]struct{ alone, withPeer bool }{
		`rule port port="22" protocol="tcp" reject`:                                           {true, true},
		`rule port port="22" protocol="tcp" accept`:                                           {},
		`rule port port="20-30" protocol="tcp" drop`:                                          {true, true},
		`rule port port="22" protocol="udp" drop`:                                             {},
		`rule port port="23" protocol="tcp" reject type="icmp-port-unreachable"`:              {},
		`rule service name="ssh" log prefix="accept: " level="info" reject`:                   {true, true}, // a service that is not known could have any port
		`rule service name="ssh" log prefix="drop reject" accept`:                             {},
		`rule protocol value="tcp" drop`:                                                      {true, true},
		`rule protocol value="gre" drop`:                                                      {},
		`rule drop`:                                                                           {true, true},
		`rule family="ipv4" source address="192.0.2.2" reject`:                                {false, true},
		`rule family="ipv4" source address="192.0.2.0/24" port port="22" protocol="tcp" drop`: {false, true},
		`rule family="ipv4" source address="192.0.2.0/24" port port="80" protocol="tcp" drop`: {},
		`rule family="ipv4" source address="203.0.113.0/24" reject`:                           {},
		`rule family="ipv4" source address="0.0.0.0/0" reject`:                                {true, true},
		`rule family="ipv4" source NOT address="203.0.113.0/24" service name="ssh" drop`:      {true, true},
		`rule family="ipv4" source NOT address="192.0.2.0/24" service name="ssh" drop`:        {true, false},
		`rule source ipset="bad" drop`:                                                        {false, true},
		`rule source mac="02:00:00:00:00:01" drop`:                                            {false, true},
		`rule family="ipv4" destination address="192.0.2.1" reject`:                           {true, true},
		`rule priority="5" port port="22" protocol="tcp" reject`:                              {},
		`rule priority="-5" port port="22" protocol="tcp" reject`:                             {true, true},
		`rule forward-port port="22" protocol="tcp" to-port="2200"`:                           {true, true},
		`rule priority="5" forward-port port="22" protocol="tcp" to-port="2200"`:              {true, true},
		`rule forward-port port="80" protocol="tcp" to-port="22"`:                             {},
		`rule icmp-block name="echo-request"`:                                                 {},
		`rule masquerade`:                                                                     {},
	} {
		z := zone{rich: []rich{parseRich(text)}}
		for _, p := range [][]netip.Addr{nil, peers} {
			got, option := z.denies(tcp(22), p)
			if (got != "") != (p == nil && want.alone || p != nil && want.withPeer) || got != "" && option != "--remove-rich-rule='"+text+"'" {
				t.Errorf("%s, peers %v: %q %s", text, p, got, option)
			}
		}
	}
}

func TestForwardedPortsOfAZoneShutThem(t *testing.T) {
	z := parseZones([]byte(zoneList))[1]
	if by, _ := z.denies(tcp(22), nil); by != "" {
		t.Errorf("port 22: %s", by)
	}
	if by, option := z.denies(tcp(80), nil); !strings.Contains(by, "elsewhere") || option != "--remove-forward-port='port=80:proto=tcp:toport=8080:toaddr='" {
		t.Errorf("port 80: %q %s", by, option)
	}
}

// policyList is from firewalld 1.3.3, "--list-all-policies", cut.
const policyList = `allow-host-ipv6 (active)
  priority: -15000
  target: CONTINUE
  ingress-zones: ANY
  egress-zones: HOST
  services: 
  ports: 
  rich rules: 
	rule family="ipv6" icmp-type name="redirect" accept

lock (active)
  priority: %s
  target: %s
  ingress-zones: ANY
  egress-zones: %s
  ports: %s
  rich rules: 
	%s

`

func TestPoliciesThatShutAPort(t *testing.T) {
	for name, c := range map[string]struct {
		priority, target, egress, ports, rich, by string
	}{
		"rejects":            {"-10", "CONTINUE", "HOST", "", `rule service name="ssh" reject`, `rule service name="ssh" reject`},
		"afterwards":         {"10", "CONTINUE", "HOST", "", `rule service name="ssh" reject`, ""},
		"drops all":          {"-10", "DROP", "HOST", "", "", "its target is DROP"},
		"all but that":       {"-10", "REJECT", "HOST", "22/tcp", "", ""},
		"drops what is left": {"10", "DROP", "HOST", "", "", ""},
		"sends elsewhere":    {"10", "CONTINUE", "HOST", "", `rule forward-port port="22" protocol="tcp" to-port="2200"`, `rule forward-port port="22" protocol="tcp" to-port="2200"`},
	} {
		list := parseZones(fmt.Appendf(nil, policyList, c.priority, c.target, c.egress, c.ports, c.rich))
		if len(list) != 2 || !list[0].policy || !list[0].bound || !list[0].early {
			t.Fatalf("%s: %+v", name, list)
		}
		by := ""
		for _, z := range list {
			if found, _ := z.denies(tcp(22), nil); found != "" {
				by = found
			}
		}
		if by != c.by {
			t.Errorf("%s: %q", name, by)
		}
	}
	if list := parseZones(fmt.Appendf(nil, policyList, "-1", "DROP", "ANY", "", "")); list[1].bound {
		t.Error("a policy about what is forwarded")
	}
}

func TestNamesThatFirewalldDoesNotGiveAreHandedToNobody(t *testing.T) {
	for name, want := range map[string]bool{
		"public": true, "nm-shared": true, "a_b.c/d": true, "": false, "-x": false, "a b": false, "a;b": false, "zöne": false, strings.Repeat("a", 65): false,
	} {
		if plainName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func FuzzZones(f *testing.F) {
	f.Add(zoneList)
	f.Add("  ports: 22/tcp\n")
	f.Add("lock\n  priority: -1\n  egress-zones: HOST\n  rich rules: \n\trule priority=\"5\" source NOT address=\"192.0.2.1\" service name=\"ssh\" log prefix=\"a: b\" drop\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, z := range parseZones([]byte(text)) {
			z.denies(tcp(22), nil)
			if z.name == "" || strings.ContainsAny(z.name, " \t\n") {
				t.Errorf("%+v", z)
			}
		}
	})
}

func TestPortsOfSSHD(t *testing.T) {
	for text, want := range map[string][]firewall.Port{
		"port 22\nlistenaddress [::]:22\nlistenaddress 0.0.0.0:22\n":              {tcp(22), tcp(22)},
		"port 22\nport 2222\npermitlisten any\n":                                  {tcp(22), tcp(2222)},
		"port 22\nlistenaddress 192.0.2.1:2200\n":                                 {tcp(2200)},
		"port 22\nlistenaddress 192.0.2.1:2200 rdomain blue\n":                    {tcp(2200)},
		"port 22\nlistenaddress 127.0.0.1:22\nlistenaddress [2001:db8::1]:2201\n": {tcp(2201)},
		"Port 22\n":            {tcp(22)},
		"port 0\nport 70000\n": nil,
		"port\nport x\n":       nil,
		"":                     nil,
	} {
		if got := parseSSHD([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestAddressesOfSocketUnits(t *testing.T) {
	for text, want := range map[string]uint16{
		"22": 22, "[::]:2222": 2222, "0.0.0.0:23": 23, "192.0.2.1:24": 24, "[2001:db8::1]:25": 25,
		"127.0.0.1:22": 0, "[::1]:22": 0, "/run/ssh.sock": 0, "@abstract": 0, "vsock::22": 0, "0": 0, "": 0, "[::]:0": 0,
	} {
		if got, ok := exposedPort(text); ok != (want != 0) || got.Number != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func FuzzSSHD(f *testing.F) {
	f.Add("port 22\nlistenaddress [::]:22\n")
	f.Add("listenaddress 192.0.2.1:2200 rdomain blue\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range parseSSHD([]byte(text)) {
			if back, err := firewall.ParsePort(p.String()); err != nil || back != p {
				t.Errorf("%v, %v", p, err)
			}
		}
	})
}
