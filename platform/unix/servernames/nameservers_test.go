// SPDX-License-Identifier: Apache-2.0

package servernames

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
)

// hosts are those of a root, in their order; all have to be upstream servers.
func hosts(t *testing.T, files map[string]string) (list []string, err error) {
	t.Helper()
	servers, err := Read(testenv.Plant(t, files))
	for _, s := range servers {
		if s.Why != blocklist.WhyUpstream || s.Needed {
			t.Errorf("%+v", s)
		}
		list = append(list, s.Host.String())
	}
	return list, err
}

func TestServersThatAResolverAsks(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"etc/unbound/unbound.conf", "server:\n interface: 192.0.2.1\n local-data: \"forward.example A 192.0.2.2\"\nforward-zone:\n  name: \".\"\n\tforward-addr: 192.0.2.53@853#dns.example\n  forward-addr:2001:db8::53 # second\n  forward-host: \"ns.example\"\n  #forward-addr: 192.0.2.3\nstub-zone: name: a.example stub-addr: 192.0.2.54 stub-addr: 192.0.2.55@5353\n  forward-addr: 127.0.0.1@5335\n  forward-addr: fe80::1%eth0\n", "192.0.2.53 2001:db8::53 ns.example 192.0.2.54 192.0.2.55 fe80::1"},
		{"etc/unbound/unbound.conf.d/forward.conf", "forward-zone:\n name: .\n forward-addr: 192.0.2.53\n", "192.0.2.53"},
		{"etc/bind/named.conf", "options {\n listen-on { 192.0.2.1; };\n forwarders port 853 tls x { 192.0.2.53; // \"first\n 2001:db8::53 port 5353; /* 192.0.2.2;\n } */ 192.0.2.54 tls y;# last\n };\n // forwarders { 192.0.2.3; };\n};\nzone \"a//b\" { type forward; forwarders { 192.0.2.55;}; };\nzone b { type static-stub; server-addresses { 192.0.2.56; }; };\nforwarders { };\n", "192.0.2.53 2001:db8::53 192.0.2.54 192.0.2.55 192.0.2.56"},
		{"etc/named.conf", "options{forwarders{192.0.2.53;};};", "192.0.2.53"},
		{"etc/dnsmasq.conf", "no-resolv\nlisten-address=192.0.2.1\nserver=192.0.2.53\n server = \"2001:db8::53#5353\" # x\nserver=/a.example/b.example/192.0.2.54#53@eth0\nserver=/c.example/\nserver=/d.example/#\nlocal=/lan/\naddress=/ads.example/192.0.2.2\nrev-server=192.0.2.0/24,192.0.2.55\nserver=ns.example\n#server=192.0.2.3\n", "192.0.2.53 2001:db8::53 192.0.2.54 192.0.2.55 ns.example"},
		{"etc/dnsmasq.d/lan", "server=192.0.2.53\n", "192.0.2.53"},
		{"etc/NetworkManager/dnsmasq.d/lan.conf", "server=/lan/192.0.2.53\n", "192.0.2.53"},
		{"etc/pihole/dnsmasq.conf", "server=192.0.2.53#53\n", "192.0.2.53"},
		{"etc/powerdns/recursor.conf", "local-address=192.0.2.1\nforward-zones=a.example=192.0.2.53:5300;2001:db8::53, b.example=192.0.2.54\nforward-zones-recurse+=.=192.0.2.55\n", "192.0.2.53 2001:db8::53 192.0.2.54 192.0.2.55"},
		{"etc/powerdns/recursor.yml", "incoming:\n  listen:\n  - 192.0.2.1\nrecursor:\n  forward_zones:\n  - zone: .\n    forwarders:\n    - 192.0.2.53\n    - '[2001:db8::53]:5300'\n    recurse: true\n  - zone: b.example\n    forwarders: [192.0.2.54, \"192.0.2.55:53\"]\n", "192.0.2.53 2001:db8::53 192.0.2.54 192.0.2.55"},
		{"etc/knot-resolver/kresd.conf", "net.listen('192.0.2.1')\npolicy.add(policy.all(policy.TLS_FORWARD({\n  {'192.0.2.53', hostname='dns.example', ca_file='/etc/ca.pem'},\n  {\"2001:db8::53@853\"},\n})))\npolicy.add(policy.suffix(policy.STUB('192.0.2.54'), {todname('a.example')}))\npolicy.FORWARD '192.0.2.55'", "192.0.2.53 2001:db8::53 192.0.2.54 192.0.2.55"},
		{"etc/knot-resolver/config.yaml", "network:\n  listen:\n    - interface: 192.0.2.1\nforward:\n  - subtree: \".\"\n    servers:\n      - address: [192.0.2.53, 2001:db8::53@853]\n        transport: tls\n        hostname: dns.example\n  - subtree: a.example\n    servers: [ 192.0.2.54,\n      192.0.2.55 ]\n", "192.0.2.53 2001:db8::53 192.0.2.54 192.0.2.55"},
		{"etc/coredns/Corefile", ". {\n    bind 192.0.2.1\n    forward . 192.0.2.53 tls://192.0.2.54%dns.example [2001:db8::53]:5353 /etc/resolv.conf {\n        except a.example\n    }\n}\n", "192.0.2.53 192.0.2.54 2001:db8::53"},
		{"etc/stubby/stubby.yml", "listen_addresses:\n  - 192.0.2.1\nupstream_recursive_servers:\n  - address_data: 192.0.2.53\n    tls_auth_name: \"dns.example\"\n## x\n  - address_data: 2001:db8::53\n", "192.0.2.53 2001:db8::53"},
		{"opt/AdGuardHome/AdGuardHome.yaml", "dns:\n  bind_hosts:\n    - 192.0.2.1\n  upstream_dns:\n    - 192.0.2.53\n    - '[/a.example/]192.0.2.54:5353'\n    - https://dns.example/dns-query\n    - tls://192.0.2.55\n    - sdns://AQcAAAAAAAAA\n    - '[/b.example/]#'\n    - 2001:db8::53\n  upstream_dns_file: \"\"\n  bootstrap_dns:\n    - 192.0.2.56\n  rewrites:\n    - domain: c.example\n      answer: 192.0.2.2\n", "192.0.2.53 192.0.2.54 dns.example 192.0.2.55 2001:db8::53 192.0.2.56"},
	} {
		got, err := hosts(t, map[string]string{c.file: c.text})
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s: %q, want %q, %v", c.file, got, c.want, err)
		}
	}
}

func TestFilesThatAResolverIncludesAreRead(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"unbound": {"etc/unbound/unbound.conf": "include: \"/srv/dns/*.conf\"\ninclude-toplevel: more.conf\n", "srv/dns/a.conf": "forward-addr: 192.0.2.53\ninclude: /srv/dns/a.conf\n", "srv/dns/b.txt": "forward-addr: 192.0.2.2\n", "etc/unbound/more.conf": "forward-addr: 192.0.2.54\n"},
		"bind":    {"etc/bind/named.conf": "include \"/etc/bind/named.conf.options\"; # include \"/srv/no\";\n", "etc/bind/named.conf.options": "include \"/../../srv/dns\";\noptions { forwarders { 192.0.2.53; }; };", "srv/dns": "forwarders { 192.0.2.54; };", "srv/no": "forwarders { 192.0.2.2; };"},
		"dnsmasq": {"etc/dnsmasq.conf": "resolv-file=/srv/resolv.conf\nconf-dir=/srv/dns/,*.conf\n", "srv/resolv.conf": "search a.example\nnameserver 192.0.2.53\n", "srv/dns/a.conf": "servers-file=/srv/servers\n", "srv/servers": "server=192.0.2.54\n"},
	} {
		got, err := hosts(t, files)
		if !slices.Equal(got, []string{"192.0.2.53", "192.0.2.54"}) || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Lists of names to refuse are long, and stand before the servers as well as behind them.
func TestWhatIsNotReadOfAResolverIsTold(t *testing.T) {
	var many, chain strings.Builder
	for i := range maxUpstream + 1 {
		fmt.Fprintf(&many, "server=198.18.%d.%d\n", i/256, i%256)
		fmt.Fprintf(&chain, "include: /srv/%d\n", i)
	}
	const server, long = "server=192.0.2.53\n", "address=/ads.example/\n"
	for _, c := range []struct {
		file, text, want string
		servers          int
	}{
		{"etc/dnsmasq.conf", server + strings.Repeat(long, maxFile/8), "", 1},
		{"etc/dnsmasq.conf", server + strings.Repeat("#", maxResolver), "/etc/dnsmasq.conf: larger than expected", 0},
		{"etc/dnsmasq.conf", many.String(), "/etc/dnsmasq.conf: names more than 500 name servers", maxUpstream},
		{"etc/unbound/unbound.conf", chain.String() + "forward-addr: 192.0.2.53", "/etc/unbound/unbound.conf: includes more than 100 files", 1},
	} {
		got, err := hosts(t, map[string]string{c.file: c.text})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.want || len(got) != c.servers {
			t.Errorf("%s: %d servers, %q, want %q", c.file, len(got), text, c.want)
		}
	}
}

func FuzzResolvers(f *testing.F) {
	f.Add("forward-addr: 192.0.2.1@853\nserver=/a/::1\nforwarders { a; \"b\n nameserver x\n- address: [\n forward . {\npolicy.STUB('::')")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range resolvers {
			for _, word := range r.servers(text) {
				for _, s := range appendServer(nil, withoutPort(word), blocklist.Server{Why: blocklist.WhyUpstream}) {
					if s.Host.String() == "" || s.Host.Addr.IsLoopback() {
						t.Errorf("%q: %+v", text, s)
					}
				}
			}
			for _, pattern := range r.include(nil, text) {
				if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "../") || pattern == ".." {
					t.Errorf("%q leads out: %q", text, pattern)
				}
			}
		}
	})
}
