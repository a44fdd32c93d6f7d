// SPDX-License-Identifier: Apache-2.0

package wall

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
		tcp(2222): firewall.Open, udp(2222): firewall.Closed, tcp(22): firewall.Open, tcp(80): firewall.Refused, udp(80): firewall.Refused,
		tcp(443): firewall.Open, udp(6000): firewall.Open, udp(6007): firewall.Open, udp(6008): firewall.Closed, tcp(6000): firewall.Closed,
		tcp(99): firewall.Closed, tcp(25): firewall.Refused, tcp(110): firewall.Refused, tcp(1): firewall.Closed,
	} {
		if got := verdict(rules, port); got != want {
			t.Errorf("%s: %d, want %d", port, got, want)
		}
	}
}

func TestRulesOfUFWInTheirOtherForms(t *testing.T) {
	for text, want := range map[string]firewall.Verdict{
		"ufw allow from any to any port 22 proto tcp":    firewall.Open,
		"ufw deny from any to any port 22":               firewall.Refused,
		"ufw deny in 22":                                 firewall.Refused,
		"ufw deny from any":                              firewall.Refused,
		"ufw deny from any to any":                       firewall.Refused,
		"ufw reject 20:30/tcp":                           firewall.Refused,
		"ufw deny from 203.0.113.9":                      firewall.Closed,
		"ufw deny from 203.0.113.9 to any port 22":       firewall.Closed,
		"ufw deny to 192.0.2.1 port 22":                  firewall.Closed,
		"ufw deny out 22/tcp":                            firewall.Closed,
		"ufw deny 22/udp":                                firewall.Closed,
		"ufw allow from any proto gre":                   firewall.Closed,
		"ufw allow from any port 22 to any":              firewall.Closed,
		"ufw route allow 22":                             firewall.Closed,
		"ufw allow 22/tcp comment 'deny from any'":       firewall.Open,
		"ufw allow log-all 22/tcp":                       firewall.Open,
		"allow 22/tcp":                                   firewall.Closed,
		"ufw allow":                                      firewall.Closed,
		"ufw allow 0:70000/tcp":                          firewall.Closed,
		"ufw allow 30:20/tcp":                            firewall.Closed,
		"ufw allow from any to any port 22 proto":        firewall.Closed,
		"ufw deny from any to any port 22 proto tcp log": firewall.Refused,
	} {
		if got := verdict(parseAdded([]byte(text+"\n")), tcp(22)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// shown is the other view of the same rules.
const shown = `Status: active
Logging: on (low)
Default: deny (incoming), allow (outgoing), disabled (routed)
New profiles: skip

To                         Action      From
--                         ------      ----
2222/tcp                   ALLOW IN    Anywhere                  
22/tcp                     LIMIT IN    Anywhere                  
80                         DENY IN     Anywhere                  
443/tcp                    ALLOW IN    192.0.2.0/24              
6000:6007/udp              ALLOW IN    Anywhere                  
99 on eth0                 ALLOW IN    Anywhere                  
25/tcp                     REJECT IN   Anywhere                   (log) # a b # c
80,443/tcp                 ALLOW IN    Anywhere                  
23/tcp (SSH)               ALLOW IN    Anywhere                  
110/tcp                    DENY IN     Anywhere                   # ALLOW IN Anywhere (v6)
2222/tcp (v6)              ALLOW IN    Anywhere (v6)             
22/tcp (v6)                LIMIT IN    Anywhere (v6)             
80 (v6)                    DENY IN     Anywhere (v6)             
99 (v6) on eth0            ALLOW IN    Anywhere (v6)             
25/tcp (v6)                REJECT IN   Anywhere (v6)              (log) # a b # c
23/tcp (SSH (v6))          ALLOW IN    Anywhere (v6)             
`

func TestStatusOfUFWSaysWhatComesIn(t *testing.T) {
	s := parseStatus([]byte(shown))
	if !s.active || s.open || len(s.v4) != 8 || len(s.v6) != 5 {
		t.Errorf("got %+v", s)
	}
	for port, want := range map[firewall.Port]bool{
		tcp(2222): true, tcp(22): true, tcp(80): false, tcp(443): false, tcp(25): false, tcp(23): true, tcp(110): false, tcp(99): false, udp(2222): false,
	} {
		if s.admits(port) != want {
			t.Errorf("%s: %v", port, !want)
		}
	}
	s = parseStatus([]byte("Status: active\nDefault: allow (incoming), allow (outgoing)\n\n22/tcp DENY IN Anywhere\n"))
	if s.admits(tcp(22)) || !s.admits(tcp(23)) {
		t.Errorf("by default open: %+v", s)
	}
	if s = parseStatus([]byte("Status: inactive\n")); s.active {
		t.Error("inactive is active")
	}
}

func FuzzUFW(f *testing.F) {
	f.Add(added)
	f.Add(shown)
	f.Add("ufw allow from any to any port 22 proto tcp")
	f.Fuzz(func(t *testing.T, text string) {
		s := parseStatus([]byte(text))
		if s.active && !strings.Contains(text, "Status: active") {
			t.Error("active out of nothing")
		}
		for _, r := range slices.Concat(parseAdded([]byte(text)), s.v4, s.v6) {
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
		{name: "public", bound: true, target: "default", services: []string{"dhcpv6-client", "ssh"}, ports: spans{{5900, 5910, "tcp"}, {77, 77, "udp"}}},
		{name: "trusted", bound: true, target: "ACCEPT", services: []string{}},
	}
	if diff := cmp.Diff(want, parseZones([]byte(zoneList)), cmp.AllowUnexported(zone{}, span{})); diff != "" {
		t.Error(diff)
	}
	if got := parseService([]byte("ssh\n  ports: 22/tcp\n  protocols: \n  source-ports: \n  destination: \n")); !got.has(tcp(22)) || got.has(udp(22)) {
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
	f.Fuzz(func(t *testing.T, text string) {
		for _, z := range parseZones([]byte(text)) {
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
