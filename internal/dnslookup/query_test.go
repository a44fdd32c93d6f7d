// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
)

func TestParseQuery(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		want       Query
	}{
		{"WWW.Example.net.", "", Query{"www.example.net", "www.example.net", []string{"A", "AAAA"}}},
		{"_dmarc.example.net", "txt", Query{"_dmarc.example.net", "_dmarc.example.net", []string{"TXT"}}},
		{"*.example.net", "A", Query{"*.example.net", "*.example.net", []string{"A"}}},
		{".", "NS", Query{".", "", []string{"NS"}}},
		{"192.0.2.7", "", Query{"192.0.2.7", "7.2.0.192.in-addr.arpa", []string{"PTR"}}},
		{"::ffff:192.0.2.7", "PTR", Query{"192.0.2.7", "7.2.0.192.in-addr.arpa", []string{"PTR"}}},
		{"2001:DB8::7", "ptr", Query{"2001:db8::7", "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", []string{"PTR"}}},
		{"7.2.0.192.in-addr.arpa", "PTR", Query{"7.2.0.192.in-addr.arpa", "7.2.0.192.in-addr.arpa", []string{"PTR"}}},
	} {
		got, err := ParseQuery(c.name, c.kind)
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%q %q: %+v, %v", c.name, c.kind, got, err)
		}
	}
	for _, c := range []struct {
		name, kind string
		code       fault.Code
	}{
		{"", "", fault.InvalidTarget}, {"-oN", "", fault.InvalidTarget}, {"a..b", "", fault.InvalidTarget}, {"..", "", fault.InvalidTarget}, {"a b", "", fault.InvalidTarget},
		{"bücher.example", "", fault.InvalidTarget}, {"a.*.b", "", fault.InvalidTarget}, {"\u212a.example", "", fault.InvalidTarget}, {"192.0.2.0/24", "", fault.InvalidTarget},
		{strings.Repeat("a", 64), "", fault.InvalidTarget}, {strings.Repeat("a.", 150), "", fault.InvalidTarget}, {"fe80::1%eth0", "", fault.InvalidTarget}, {"a\\.b", "", fault.InvalidTarget},
		{"a.example", "ANY", fault.InvalidArgument}, {"a.example", "AXFR", fault.InvalidArgument}, {"a.example", "-x", fault.InvalidArgument},
		{"a.example", "PTR", fault.InvalidArgument}, {"192.0.2.7", "A", fault.InvalidArgument},
	} {
		if got, err := ParseQuery(c.name, c.kind); err == nil || fault.From(err).Code != c.code || got.Types != nil {
			t.Errorf("%q %q: %+v, %v", c.name, c.kind, got, err)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add("a.example", "A")
	f.Add("2001:db8::7", "")
	f.Add("*.é", "TXT")
	f.Fuzz(func(t *testing.T, name, kind string) {
		q, err := ParseQuery(name, kind)
		if err != nil {
			return
		}
		if len(q.Name) > maxName || strings.HasPrefix(q.Shown, "-") || strings.Trim(q.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_.*") != "" || len(q.Types) == 0 {
			t.Errorf("%q %q: %+v", name, kind, q)
		}
		for _, kind := range q.Types {
			if !slices.Contains(Types(), kind) {
				t.Errorf("%q", kind)
			}
		}
	})
}

func TestAServerIsTheAddressOfOneHost(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.53": "192.0.2.53:53", "2001:db8::53": "[2001:db8::53]:53", "::ffff:192.0.2.53": "192.0.2.53:53", "127.0.0.53": "127.0.0.53:53", "fe80::1%eth0": "[fe80::1%eth0]:53",
		"dns.example.net": "", "192.0.2.53:5353": "", "0.0.0.0": "", "::": "", "224.0.0.251": "", "ff02::fb": "", "255.255.255.255": "", "-1": "", "192.0.2.53\n": "",
	} {
		at, err := Sources{}.At(text)
		if want == "" {
			if fault.From(err).Code != fault.InvalidTarget {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		servers, _ := at.Servers(t.Context(), "example.net")
		if err != nil || len(servers) != 1 || servers[0].String() != want {
			t.Errorf("%q: %v, %v", text, servers, err)
		}
	}
}

func TestAServerThatIsNamedIsTheOnlyOneAsked(t *testing.T) {
	s := &servers{answers: map[byte]func(context.Context, Question) (Reply, error){1: code("NXDOMAIN"), 7: byType(record("example.net", "A", "203.0.113.7"))}}
	at, err := s.names().At("192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Resolve(t.Context(), at, Query{Shown: "example.net", Name: "example.net", Types: []string{"A"}}, 0)
	if err != nil || l.Server != "192.0.2.7:53" || len(l.Records) != 1 || !slices.Equal(s.asked, []string{"7 A"}) {
		t.Errorf("%+v, %v; asked %v", l, err, s.asked)
	}
}
