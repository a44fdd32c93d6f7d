// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"sentinel/internal/testenv"
)

// A machine in a domain of Active Directory names no server at all: a real name server tells them.
func TestServersOfADomainAreAskedOfTheNameServer(t *testing.T) {
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]string{
		"_ldap._tcp.ad.example.\tSRV": "_ldap._tcp.ad.example. 60 IN SRV 0 100 389 dc1.ad.example.", "dc1.ad.example.\tA": "dc1.ad.example. 60 IN A 192.0.2.21",
		"kdc.example.\tAAAA": "kdc.example. 60 IN AAAA 2001:db8::22", "ntp.example.\tA": "ntp.example. 60 IN A 192.0.2.23",
	}
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, ask *dns.Msg) {
		m := new(dns.Msg).SetReply(ask)
		q := ask.Question[0]
		if rr, err := dns.NewRR(records[q.Name+"\t"+dns.TypeToString[q.Qtype]]); err == nil && rr != nil {
			m.Answer = []dns.RR{rr}
		}
		w.WriteMsg(m)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { packets.Close() })
	s := NewHostContext(testenv.Plant(t, map[string]string{
		"etc/sssd/sssd.conf": "[domain/ad.example]\nid_provider = ad\n",
		"etc/krb5.conf":      "[libdefaults]\ndefault_realm = EXAMPLE\n[realms]\nEXAMPLE = {\n kdc = kdc.example:88\n}\n",
		"etc/ntp.conf":       "server ntp.example iburst\nserver 192.0.2.24\n",
	}))
	s.names = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", packets.LocalAddr().String())
	}}
	list, err := s.NamedAddrs(t.Context(), nil)
	found := map[string]string{}
	for _, p := range list {
		found[p.Prefix.String()] = p.Why
	}
	want := map[string]string{
		"192.0.2.21/32": "a directory server of this machine, which logins ask", "2001:db8::22/128": "a Kerberos server of this machine, which logins ask", "192.0.2.23/32": "a time server of this machine",
	}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
