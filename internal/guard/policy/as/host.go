// SPDX-License-Identifier: Apache-2.0

package as

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// notInHosts is what ends a host, or is none: mapped from other characters it may appear anew.
const notInHosts = "%/?#@:[]\\ <>^|\"'`{}"

var errHost = errors.New("it names no host")

// Host returns the hosts that text may mean: names in ASCII and lower case, without the dot at
// the end; addresses in their usual form. The text is an address on the web, or one without its
// scheme: a host, with a user, a port and a path or without.
func Host(text string) ([]string, error) {
	if _, err := netip.ParseAddr(text); err == nil { // of IPv6 too, without brackets
		return hostOnly(text)
	}
	scheme, rest, _ := strings.Cut(text, ":")
	_, special := defaultPorts[strings.ToLower(scheme)]
	switch {
	case strings.HasPrefix(text, "//"):
		text = "http:" + text
	case !special && !strings.HasPrefix(rest, "//"):
		text = "http://" + text
	}
	u, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	return hostOnly(u.host)
}

// hostOnly reads a host without a port.
func hostOnly(text string) ([]string, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return nil, errHost
		}
		return addressReadings(inner)
	}
	if strings.Contains(text, ":") {
		return addressReadings(text)
	}
	text, _ = unescape(text)
	if strings.ContainsAny(text, notInHosts) {
		return nil, errHost
	}
	return nameReadings(text)
}

// addressReadings reads an IPv6 address. Its zone names an interface of this host and nothing
// of the address; addresses of IPv4 inside it are what is reached.
func addressReadings(text string) ([]string, error) {
	text, _ = unescapeZone(text)
	address, err := netip.ParseAddr(text)
	if err != nil {
		return nil, errHost
	}
	address = address.WithZone("")
	readings := []string{address.Unmap().String()}
	if inner, ok := embedded(address); ok {
		readings = add(readings, inner.String())
	}
	return orLoopback(readings), nil
}

func unescapeZone(text string) (string, bool) {
	host, zone, ok := strings.Cut(text, "%25")
	if !ok {
		return text, false
	}
	return host + "%" + zone, true
}

// translated are the networks of IPv6 whose addresses hold one of IPv4, and at which byte.
var translated = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64 (RFC 6052)
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},  // the same of a site (RFC 8215)
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT (RFC 2765)
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4 (RFC 3056)
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible (RFC 4291, 2.5.5.1)
}

// Networks of IPv6 that tunnel one of IPv4: its address is inverted (Teredo, RFC 4380), or stands
// behind a mark that any network may have (ISATAP, RFC 5214).
var (
	teredo = netip.MustParsePrefix("2001::/32")
	isatap = []byte{0, 0, 0x5e, 0xfe}
)

// embedded returns the IPv4 address in an IPv6 one that a translator or a tunnel reaches.
func embedded(address netip.Addr) (inner netip.Addr, ok bool) {
	b := address.As16()
	if address.Is4In6() {
		return inner, false
	}
	if mark := b[8:12]; bytes.Equal(mark, isatap) || mark[0] == 2 && bytes.Equal(mark[1:], isatap[1:]) {
		return netip.AddrFrom4([4]byte(b[12:])), true
	}
	if teredo.Contains(address) {
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	}
	for _, t := range translated {
		if t.network.Contains(address) && b[t.at] != 0 {
			return netip.AddrFrom4([4]byte(b[t.at : t.at+4])), true
		}
	}
	return inner, false
}

// orLoopback adds what the address of no host reaches when somebody connects to it: this host.
func orLoopback(readings []string) []string {
	for _, r := range readings {
		switch r {
		case "0.0.0.0":
			return add(readings, "127.0.0.1")
		case "::":
			return add(readings, "::1", "127.0.0.1")
		}
	}
	return readings
}

// nameReadings reads a name, or an address of IPv4 in one of its spellings. Letters of other
// scripts become what a resolver is asked for: an ASCII form of the name (UTS 46), in which
// look-alike letters are letters of their own and full-width ones are those of ASCII.
func nameReadings(text string) ([]string, error) {
	var readings []string
	for _, profile := range []*idna.Profile{current, transitional} {
		ascii, err := profile.ToASCII(text)
		if err != nil {
			return nil, errHost
		}
		ascii = strings.TrimSuffix(strings.ToLower(ascii), ".")
		if strings.ContainsAny(ascii, notInHosts) || hasControl(ascii) || ascii == "" || strings.HasPrefix(ascii, ".") || strings.Contains(ascii, "..") || strings.HasSuffix(ascii, ".") {
			return nil, errHost
		}
		if addresses, isNumber := ipv4Readings(ascii); isNumber {
			if len(addresses) == 0 {
				return nil, errHost
			}
			return orLoopback(addresses), nil
		}
		readings = add(readings, ascii)
	}
	return readings, nil
}

// A name is mapped with and without the special letters of IDNA 2003: resolvers differ.
var (
	current      = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
	transitional = idna.New(idna.MapForLookup(), idna.Transitional(true), idna.StrictDomainName(false))
)

// ipv4Readings reads an address as inet_aton(3) does: one to four numbers, each decimal, octal or
// hexadecimal, the last filling what is left; and as readers do that know decimal numbers
// alone. It is false when the last part is no number: then the text is a name.
func ipv4Readings(text string) (readings []string, isNumber bool) {
	parts := strings.Split(text, ".")
	if _, ok := ipv4Number(parts[len(parts)-1], false); !ok {
		return nil, false
	}
	for _, decimal := range []bool{false, true} {
		if address, ok := aton(parts, decimal); ok {
			readings = add(readings, address.String())
		}
	}
	return readings, true
}

func aton(parts []string, decimal bool) (netip.Addr, bool) {
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, ok := ipv4Number(part, decimal)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if !ok || n >= 1<<bits {
			return netip.Addr{}, false
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func ipv4Number(part string, decimal bool) (uint64, bool) {
	base, digits := 10, part
	switch {
	case decimal:
	case strings.HasPrefix(part, "0x"):
		base, digits = 16, part[2:]
		if digits == "" {
			return 0, true
		}
	case strings.HasPrefix(part, "0") && len(part) > 1:
		base, digits = 8, part[1:]
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err == nil {
		return n, true
	}
	if base == 8 { // 08 is no octal number; it is one all the same
		n, err = strconv.ParseUint(digits, 10, 64)
	}
	return n, err == nil
}

// A Site is where hosts may be: a network, an address, or a name with all the names below it.
type Site struct {
	network netip.Prefix
	name    string
}

// ParseSite reads "192.0.2.0/24", "192.0.2.1", "example.org" or "*.example.org", which is the same
// without the name itself.
func ParseSite(text string) (Site, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return Site{network: network.Masked()}, nil
	}
	if below, ok := strings.CutPrefix(text, "*."); ok {
		names, err := Host(below)
		if err != nil || len(names) != 1 {
			return Site{}, errHost
		}
		return Site{name: "." + names[0]}, nil
	}
	names, err := Host(text)
	if err != nil || len(names) == 0 {
		return Site{}, errHost
	}
	if address, err := netip.ParseAddr(names[0]); err == nil {
		return Site{network: netip.PrefixFrom(address, address.BitLen())}, nil
	}
	return Site{name: names[0]}, nil
}

// Has says whether host, one that [Host] returned, is there.
func (s Site) Has(host string) bool {
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil && s.network.IsValid():
		return s.network.Contains(address)
	case err == nil:
		return Local(s.name) && address.IsLoopback()
	case s.network.IsValid(): // a name of this host has its addresses (RFC 6761, 6.3)
		return Local(host) && (s.network.Contains(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || s.network.Contains(netip.IPv6Loopback()))
	default:
		return host == s.name || strings.HasSuffix(host, "."+strings.TrimPrefix(s.name, "."))
	}
}

// hosts are the names that systems have for themselves in /etc/hosts.
var hosts = []string{"localhost", "localhost4", "localhost6", "localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback"}

// Local says whether name is one that a system takes for itself.
func Local(name string) bool {
	return slices.Contains(hosts, name) || strings.HasSuffix(name, ".localhost")
}

// bracketed writes a host as an address on the web has it.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
