// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// notInHosts is what ends a host, or is none: mapped from other characters it may appear anew.
const notInHosts = "%/?#@:[]\\ <>^|\"'`{}"

var errHost = errors.New("it names no host")

// Host returns the hosts that text may mean: names in ASCII and lower case, without the dot at
// the end; addresses in their usual form. The text is a host, with a port or without, or an
// address on the web.
func Host(text string) ([]string, error) {
	switch {
	case hasControl(text):
		return nil, errControl
	case strings.ContainsAny(text, " \\"):
		return nil, errHost
	case strings.Contains(text, "://"):
		u, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		return hostOnly(u.host)
	}
	return hostOnly(withoutPort(text))
}

// withoutPort takes a port away. A bare IPv6 address has colons and no port.
func withoutPort(text string) string {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		host, rest, closed := strings.Cut(inner, "]")
		if closed && (rest == "" || isPort(rest)) {
			return "[" + host + "]"
		}
		return text
	}
	if at := strings.LastIndexByte(text, ':'); at >= 0 && strings.Count(text, ":") == 1 && isPort(text[at:]) {
		return text[:at]
	}
	return text
}

func isPort(text string) bool {
	if text == ":" {
		return true
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(text, ":"), 10, 16)
	return err == nil && text[0] == ':'
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

// embedded returns the IPv4 address in an IPv6 one that a translator reaches: NAT64 (RFC 6052),
// 6to4 (RFC 3056), IPv4-compatible (RFC 4291, 2.5.5.1).
func embedded(address netip.Addr) (netip.Addr, bool) {
	b := address.As16()
	inner := func(at int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[at : at+4])), true }
	switch {
	case address.Is4In6():
		return netip.Addr{}, false
	case netip.MustParsePrefix("64:ff9b::/96").Contains(address):
		return inner(12)
	case netip.MustParsePrefix("2002::/16").Contains(address):
		return inner(2)
	case netip.MustParsePrefix("::/96").Contains(address) && b[12] != 0:
		return inner(12)
	}
	return netip.Addr{}, false
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

// Local says whether name is one that every system takes for itself.
func Local(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

// bracketed writes a host as an address on the web has it.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
