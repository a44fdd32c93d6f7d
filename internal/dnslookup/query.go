// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// Bounds of a name without the dot of the root, RFC 1035 section 2.3.4.
const (
	maxName  = 253
	maxLabel = 63
)

// Types lists the types of records that can be asked for.
func Types() []string {
	return []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"}
}

// A Query is what to look up.
type Query struct {
	Shown string // as the caller asked: the name, or the address of a PTR query
	Name  string // to send, without the dot of the root at its end
	Types []string
}

// ParseQuery reads a name, or an address whose names are wanted, and a type of
// record. Without a type the addresses of a name or the names of an address are asked for.
// Errors are INVALID_TARGET for the name and INVALID_ARGUMENT for the type.
func ParseQuery(name, kind string) (Query, error) {
	kind = strings.ToUpper(kind)
	if kind != "" && !slices.Contains(Types(), kind) {
		return Query{}, fault.New(fault.InvalidArgument, strconv.Quote(sanitize.Text(kind, 20))+" is not a type of record that can be asked for.").
			WithFix("Send one of " + strings.Join(Types(), ", ") + ".")
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return parseReverse(a, kind)
	}
	if why := invalidName(name); why != "" {
		return Query{}, fault.New(fault.InvalidTarget, strconv.Quote(sanitize.Text(name, 80))+" "+why+".").
			WithFix("Send a name such as www.example.net, with letters outside of ASCII in their xn-- form, or an address to find its names.")
	}
	plain := strings.ToLower(strings.TrimSuffix(name, "."))
	q := Query{Shown: plain, Name: plain, Types: []string{kind}}
	if plain == "" {
		q.Shown = "."
	}
	switch {
	case kind == "":
		q.Types = []string{"A", "AAAA"}
	case kind == "PTR" && !strings.HasSuffix(plain, ".arpa"):
		return Query{}, fault.New(fault.InvalidArgument, "PTR records are found by an address, and "+plain+" is a name.").
			WithFix("Send an address such as 192.0.2.7, or ask for another type.")
	}
	return q, nil
}

func parseReverse(a netip.Addr, kind string) (Query, error) {
	if a.Zone() != "" {
		return Query{}, fault.New(fault.InvalidTarget, strconv.Quote(sanitize.Text(a.String(), 80))+" names an interface; send the address alone.")
	}
	a = a.Unmap()
	if kind != "" && kind != "PTR" {
		return Query{}, fault.New(fault.InvalidArgument, "An address has PTR records only, and "+kind+" was asked for.").
			WithFix("Leave the type out, or send a name.")
	}
	return Query{Shown: a.String(), Name: reverse(a), Types: []string{"PTR"}}, nil
}

// reverse returns the name that has the PTR records of an address, RFC 1035
// section 3.5 and RFC 3596 section 2.5.
func reverse(a netip.Addr) string {
	bytes := a.AsSlice()
	slices.Reverse(bytes)
	var b strings.Builder
	for _, n := range bytes {
		if a.Is4() {
			fmt.Fprintf(&b, "%d.", n)
		} else {
			fmt.Fprintf(&b, "%x.%x.", n&15, n>>4)
		}
	}
	if a.Is4() {
		return b.String() + "in-addr.arpa"
	}
	return b.String() + "ip6.arpa"
}

// invalidName says why a name cannot be looked up, "" when it can. Names of records
// may hold more than those of hosts (RFC 2181 section 11): underscores of services, and an
// asterisk for wildcards.
func invalidName(name string) string {
	plain := strings.TrimSuffix(name, ".")
	switch {
	case name == ".":
		return ""
	case plain == "" || len(plain) > maxName:
		return "is not a name: it has to have 1 to 253 characters"
	case name[0] == '-':
		return "is not a name: it begins with a hyphen"
	}
	for i, label := range strings.Split(plain, ".") {
		if !recordLabel(label) && (i > 0 || label != "*") {
			return "is not a name: each part has 1 to 63 letters, digits, hyphens and underscores"
		}
	}
	return ""
}

func recordLabel(label string) bool {
	if label == "" || len(label) > maxLabel {
		return false
	}
	for _, c := range []byte(label) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// At returns sources that ask one server, an address whose port 53 answers. Anything but the address
// of one host is INVALID_TARGET.
func (s Sources) At(server string) (Sources, error) {
	a, err := netip.ParseAddr(server)
	a = a.Unmap()
	if err != nil || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return Sources{}, fault.New(fault.InvalidTarget, strconv.Quote(sanitize.Text(server, 80))+" is not the address of a name server.").
			WithFix("Send the address of one host as server, such as 192.0.2.53, without a port; leave it out to ask the name servers of this machine.")
	}
	s.Servers = func(context.Context, string) ([]netip.AddrPort, error) {
		return []netip.AddrPort{netip.AddrPortFrom(a, 53)}, nil
	}
	s.Configured = "that " + a.String() + " is a name server"
	return s, nil
}
