// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"

	"github.com/miekg/dns"

	"sentinel/internal/dnslookup"
)

func reply(m *dns.Msg, tcp bool) dnslookup.Reply {
	r := dnslookup.Reply{Code: code(m.Rcode), Authentic: m.AuthenticatedData, TCP: tcp, Records: []dnslookup.Record{}}
	for _, rr := range m.Answer {
		if record, ok := recordOf(rr); ok {
			r.Records = append(r.Records, record)
		}
	}
	return r
}

func code(n int) string {
	if name, ok := dns.RcodeToString[n]; ok {
		return name
	}
	return "an unknown code"
}

// recordOf converts a record of a type that can be asked for.
func recordOf(rr dns.RR) (dnslookup.Record, bool) {
	h := rr.Header()
	r := dnslookup.Record{Name: name(h.Name), Type: dns.TypeToString[h.Rrtype], TTL: uint64(h.Ttl)}
	if h.Class != dns.ClassINET {
		return r, false
	}
	switch v := rr.(type) {
	case *dns.A:
		r.Value = v.A.String()
	case *dns.AAAA:
		r.Value = v.AAAA.String()
	case *dns.CNAME:
		r.Value = name(v.Target)
	case *dns.NS:
		r.Value = name(v.Ns)
	case *dns.PTR:
		r.Value = name(v.Ptr)
	case *dns.MX:
		r.Value, r.Priority = name(v.Mx), intPtr(v.Preference)
	case *dns.SRV:
		r.Value, r.Priority, r.Weight, r.Port = name(v.Target), intPtr(v.Priority), intPtr(v.Weight), intPtr(v.Port)
	case *dns.TXT:
		r.Value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.Join(v.Txt, ""))
	case *dns.SOA, *dns.CAA:
		r.Value = strings.TrimPrefix(rr.String(), h.String())
	default:
		return r, false
	}
	return r, true
}

// name drops the root's dot, except from the root itself.
func name(s string) string {
	if s == "." {
		return s
	}
	return strings.TrimSuffix(s, ".")
}

func intPtr(n uint16) *int {
	i := int(n)
	return &i
}
