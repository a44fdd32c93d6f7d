// SPDX-License-Identifier: Apache-2.0

package firewall

import (
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
		tcp(2222): firewall.Open, udp(2222): firewall.Closed, tcp(22): firewall.Open, tcp(80): firewall.Denied, udp(80): firewall.Denied,
		tcp(443): firewall.Open, udp(6000): firewall.Open, udp(6007): firewall.Open, udp(6008): firewall.Closed, tcp(6000): firewall.Closed,
		tcp(99): firewall.Closed, tcp(25): firewall.Denied, tcp(110): firewall.Denied, tcp(1): firewall.Closed,
	} {
		if got := decide(rules, port).Verdict; got != want {
			t.Errorf("%s: %d, want %d", port, got, want)
		}
	}
}

func TestRulesOfUFWInTheirOtherForms(t *testing.T) {
	for text, want := range map[string]firewall.Verdict{
		"ufw allow from any to any port 22 proto tcp":      firewall.Open,
		"ufw deny from any to any port 22":                 firewall.Denied,
		"ufw deny in 22":                                   firewall.Denied,
		"ufw deny to any port 22":                          firewall.Denied,
		"ufw deny from any":                                firewall.Closed,
		"ufw deny from any\nufw allow 22":                  firewall.Closed,
		"ufw allow to any":                                 firewall.Open,
		"ufw deny from any to any":                         firewall.Closed,
		"ufw reject 20:30/tcp":                             firewall.Denied,
		"ufw limit 22/tcp\nufw deny in on eth0":            firewall.Open,
		"ufw deny out 22/tcp":                              firewall.Closed,
		"ufw deny 22/udp":                                  firewall.Closed,
		"ufw route deny in on eth0":                        firewall.Closed,
		"ufw route allow 22":                               firewall.Closed,
		"ufw allow 22/tcp comment 'deny from any'":         firewall.Open,
		"ufw allow log-all 22/tcp":                         firewall.Open,
		"allow 22/tcp":                                     firewall.Closed,
		"ufw allow":                                        firewall.Closed,
		"ufw allow 0:70000/tcp":                            firewall.Closed,
		"ufw allow 30:20/tcp":                              firewall.Closed,
		"ufw deny log from any to any port 22 proto tcp":   firewall.Denied,
		"ufw deny from any to any port 22 proto tcp log x": firewall.Closed,
	} {
		if got := decide(parseAdded([]byte(text+"\n")), tcp(22)).Verdict; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// What is not about plain ports is not judged, and is named instead: the trial
// shows what it does.
func TestOtherRulesOfUFWAreNamedAndNotJudged(t *testing.T) {
	for _, text := range []string{
		"deny from 203.0.113.9", "deny in on eth0 from 203.0.113.9 to any port 22", "deny from 198.51.100.0/24 to any port 22 proto udp", "deny in on eth0",
		"deny to 192.0.2.1 port 22", "deny OpenSSH", "deny 'Apache Full'", "allow OpenSSH", "deny from any proto gre", "allow from any port 22 to any",
	} {
		rules := parseAdded([]byte("ufw " + text + "\n"))
		if len(rules) != 1 || rules[0].ports != nil || rules[0].everything || rules[0].text != text || decide(rules, tcp(22)).Verdict != firewall.Closed {
			t.Errorf("%q: %+v", text, rules)
		}
	}
}

func TestRuleOfUFWIsNamedAsItWasWritten(t *testing.T) {
	for text, fix := range map[string]string{
		"ufw deny 22":                            "sudo ufw delete deny 22.",
		"ufw reject log 22/tcp comment 'it's x'": "sudo ufw delete reject log 22/tcp.",
	} {
		if r := decide(parseAdded([]byte(text+"\n")), tcp(22)); r.Verdict != firewall.Denied || !strings.HasSuffix(r.Fix, fix) {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestRuleOfUFWThatDeniesTheRestIsPreceded(t *testing.T) {
	for text, want := range map[string]bool{
		"ufw allow 80\nufw deny to any\n": true, "ufw deny 80\nufw reject from any\n": true, "ufw deny from 203.0.113.9\nufw deny to any\n": false, "ufw deny 22\n": false,
		"ufw allow to any\n": false, "": false,
	} {
		if got := deniesRest(parseAdded([]byte(text))); got != want {
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
			if !strings.Contains(text, r.text) || r.ports != nil && r.everything {
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
			other: []string{"port=80:proto=tcp:toport=8080:toaddr=", `rule family="ipv4" source address="192.0.2.1" accept`}},
		{name: "trusted", sources: true, target: "ACCEPT", services: []string{}},
	}
	if diff := cmp.Diff(want, parseZones([]byte(zoneList)), cmp.AllowUnexported(zone{}, span{})); diff != "" {
		t.Error(diff)
	}
	if got := parseService([]byte("ssh\n  ports: 22/tcp\n  protocols: \n  source-ports: \n  destination: \n")); !got.ports.has(tcp(22)) || got.ports.has(udp(22)) || got.other != nil {
		t.Errorf("got %v", got)
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
			z.admits(tcp(22))
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

// Rules that ufw ships drop nothing that belongs to a connection.
func TestRulesThatMayDropOpenConnectionsAreFound(t *testing.T) {
	rules := "*filter\n:ufw-before-input - [0:0]\n-A ufw-before-input -s 192.0.2.0/24 -j DROP\n-A ufw-before-input -m conntrack --ctstate INVALID -j DROP\n" +
		"# -A ufw-before-input -j DROP\n-A ufw-not-local -j DROP\n-A ufw6-before-input -m rt --rt-type 0 -j DROP\n-A ufw-before-input -j ufw-not-local\n" +
		"-I ufw-before-input -p tcp -j REJECT --reject-with tcp-reset\n-A mine --jump DROP\n-A x -j\n" +
		"-A ufw-before-input -p icmp --icmp-type echo-request -j DROP\n-A ufw6-before-input -p icmpv6 --icmpv6-type echo-request -j DROP\n" +
		"-A ufw-before-input -p icmp ! --icmp-type echo-request -j DROP\nCOMMIT\n"
	want := []string{"-A ufw-before-input -s 192.0.2.0/24 -j DROP", "-I ufw-before-input -p tcp -j REJECT --reject-with tcp-reset", "-A mine --jump DROP",
		"-A ufw-before-input -p icmp ! --icmp-type echo-request -j DROP"}
	if got := droppingRules([]byte(rules)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What lets a protocol without ports in is named as sentinel names it.
func TestProtocolsThatManagersLetInAreNamed(t *testing.T) {
	z := parseZones([]byte("public (default)\n  target: default\n  protocols: gre 89 200\n  rich rules: \n\trule protocol value=\"vrrp\" accept\n"))
	if want := []string{"protocol gre", "protocol ospf", "protocol protocol-200", `rule protocol value="vrrp" accept`}; len(z) != 1 || !slices.Equal(z[0].other, want) {
		t.Errorf("%+v", z)
	}
	if got := parseService([]byte("ipsec\n  ports: 500/udp\n  protocols: ah esp\n")); !slices.Equal(got.other, []string{"protocol ah", "protocol esp"}) {
		t.Errorf("%+v", got)
	}
	rules := "*filter\n-A ufw-before-input -p icmp --icmp-type echo-request -j ACCEPT\n-A ufw-before-input -p udp --sport 67 --dport 68 -j ACCEPT\n" +
		"# -A ufw-before-input -p 50 -j ACCEPT\n-A ufw-before-input -p 103 -j DROP\n-A ufw-before-input -p ospf -j ACCEPT\n-A ufw-before-input --protocol 112 -i eth0 -j ACCEPT\n-A x -p\nCOMMIT\n"
	if got, want := acceptedProtocols([]byte(rules)), []firewall.Port{{Protocol: "ospf"}, {Protocol: "vrrp"}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
