// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"sentinel/internal/sysexec/replay"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A Mac with a VPN that serves one domain.
const resolvers = `DNS configuration

resolver #1
  search domain[0] : home.example
  nameserver[0] : 192.0.2.1
  nameserver[1] : 2001:db8::1
  if_index : 14 (en0)
  flags    : Request A records, Request AAAA records
  reach    : 0x00020002 (Reachable,Directly Reachable Address)

resolver #2
  domain   : corp.example.
  nameserver[0] : 198.51.100.53
  flags    : Supplemental, Request A records
  reach    : 0x00000002 (Reachable)
  order    : 102600

resolver #3
  domain   : local
  options  : mdns
  timeout  : 5
  flags    : Request A records
  reach    : 0x00000000 (Not Reachable)
  order    : 300000

resolver #4
  domain   : lab.corp.example
  nameserver[0] : 203.0.113.53
  nameserver[1] : 192.0.2.1

DNS configuration (for scoped queries)

resolver #1
  nameserver[0] : 198.51.100.99
  if_index : 26 (utun4)
  flags    : Scoped, Request A records
  reach    : 0x00000002 (Reachable)
`

func TestServersDependOnTheName(t *testing.T) {
	const general = "192.0.2.1:53 [2001:db8::1]:53"
	for name, want := range map[string]string{
		"www.example.net": general, "": general, "notcorp.example": general, "printer.local": general,
		"corp.example": "198.51.100.53:53 " + general, "Git.Corp.Example.": "198.51.100.53:53 " + general,
		"a.lab.corp.example": "203.0.113.53:53 192.0.2.1:53 198.51.100.53:53 [2001:db8::1]:53",
	} {
		o := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(resolvers)}}}
		got, err := NameServers(o)(t.Context(), name)
		if err != nil || joined(got) != want || len(o.Ran) != 1 || o.Ran[0] != "/usr/sbin/scutil --dns" {
			t.Errorf("%q: %s, %v after %q", name, joined(got), err, o.Ran)
		}
	}
}

func joined(list []netip.AddrPort) string {
	var texts []string
	for _, s := range list {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, " ")
}

func TestServersThatAreNotToldAreAnError(t *testing.T) {
	for name, o := range map[string]*replay.Sequence{
		"hangs":        {Err: errors.New("x")},
		"fails":        {Results: []sysexec.Result{{Exit: 1, Stderr: []byte("odd")}}},
		"says nothing": {Results: []sysexec.Result{{}}},
		"no network":   {Results: []sysexec.Result{{Stdout: []byte("No DNS configuration available\n")}}},
		"scoped only":  {Results: []sysexec.Result{{Stdout: []byte("DNS configuration\n\nDNS configuration (for scoped queries)\n\nresolver #1\n  nameserver[0] : 192.0.2.1\n")}}},
		"no address":   {Results: []sysexec.Result{{Stdout: []byte("DNS configuration\n\nresolver #1\n  nameserver[0] : --help\n")}}},
	} {
		if got, err := NameServers(o)(t.Context(), "www.example.net"); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	many := "DNS configuration\n\nresolver #1\n"
	for i := range 20 {
		many += "  nameserver[0] : " + netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).String() + "\n"
	}
	if got, err := ParseServers([]byte(many), ""); err != nil || len(got) != maxServers {
		t.Errorf("%d servers, %v", len(got), err)
	}
}

func TestRecordedResolvers(t *testing.T) {
	known := map[string]string{
		"dns-head-drduh.txt":     "127.0.0.1:53",
		"dns-split-dns-vpn.txt":  "192.168.1.87:53 192.168.1.1:53 8.8.8.8:53 1.1.1.1:53",
		"dns-tailscale-full.txt": "100.100.100.100:53 1.1.1.1:53 8.8.8.8:53",
	}
	for _, r := range testenv.RecordedOutputs(t, "scutil") {
		got, err := ParseServers(r.Raw, "www.example.net")
		if want, ok := known[r.Name]; ok && (err != nil || joined(got) != want) {
			t.Errorf("%s: %s, %v", r.Name, joined(got), err)
		}
	}
}

func FuzzParseServers(f *testing.F) {
	f.Add([]byte(resolvers), "a.corp.example")
	f.Fuzz(func(t *testing.T, printed []byte, name string) {
		got, err := ParseServers(printed, name)
		if err == nil && (len(got) == 0 || len(got) > maxServers) {
			t.Errorf("%d servers without an error", len(got))
		}
		for _, s := range got {
			if !s.IsValid() || s.Port() != dnsPort {
				t.Errorf("%v", s)
			}
		}
	})
}
