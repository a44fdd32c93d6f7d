// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"sentinel/internal/dnslookup"
	"sentinel/internal/dnslookup/wire"
	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

func TestLookupsAskTheServerOfThisMachine(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, ask *dns.Msg) {
		m := new(dns.Msg).SetReply(ask)
		if ask.Question[0].Name != "a.example." {
			m.Rcode = dns.RcodeNameError
		} else if rr, err := dns.NewRR("a.example. 60 IN A 192.0.2.7"); err == nil && ask.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{rr}
		}
		w.WriteMsg(m)
	})}
	go server.ActivateAndServe()
	root := testenv.Plant(t, map[string]string{"etc/resolv.conf": "nameserver 127.0.0.9\nnameserver 127.0.0.1\n"})
	names := dnslookup.Sources{Servers: NameServers(root), Exchanger: wire.Client{}}
	look := func(name string) (dnslookup.Lookup, error) {
		q, err := dnslookup.ParseQuery(name, "")
		if err != nil {
			t.Fatal(err)
		}
		return dnslookup.Resolve(t.Context(), names, q, 0)
	}
	got, err := look("a.example")
	want := []dnslookup.Record{{Name: "a.example", Type: "A", TTL: 60, Value: "192.0.2.7"}}
	if err != nil || !cmp.Equal(got.Records, want) || got.Server != "127.0.0.1:53" || len(got.Unavailable) != 1 || got.Unavailable[0].Reason != "connection refused" {
		t.Errorf("%+v, %v", got, err)
	}
	t.Logf("%v ms", got.TimeMS)
	if _, err := look("b.example"); fault.From(err).Code != fault.HostNotFound {
		t.Error(err)
	}
}

func TestNameServersOfAMachine(t *testing.T) {
	for content, want := range map[string]string{
		"nameserver 192.0.2.53\n": "192.0.2.53:53", "": "127.0.0.1:53", "nameserver ns.example\n": "127.0.0.1:53",
		"nameserver 192.0.2.53\nnameserver 2001:db8::53\nnameserver fe80::1%eth0\n": "192.0.2.53:53 [2001:db8::53]:53 [fe80::1%eth0]:53",
		"nameserver ::ffff:192.0.2.9\n":                                             "192.0.2.9:53",
		strings.Repeat("nameserver 192.0.2.1\n", 100):                               strings.TrimSpace(strings.Repeat("192.0.2.1:53 ", maxServers)),
	} {
		root := testenv.Plant(t, map[string]string{"etc/resolv.conf": content})
		servers, err := NameServers(root)(t.Context(), "")
		var got []string
		for _, s := range servers {
			got = append(got, s.String())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v, %v", content, got, err)
		}
	}
	if got, err := NameServers(t.TempDir())(t.Context(), ""); err != nil || len(got) != 1 {
		t.Errorf("without the file: %v, %v", got, err)
	}
	for _, bad := range []map[string]string{{"etc/resolv.conf/": ""}, {"etc/resolv.conf": strings.Repeat("#", 64<<10)}} {
		if got, err := NameServers(testenv.Plant(t, bad))(t.Context(), ""); err == nil {
			t.Errorf("%v", got)
		}
	}
}
