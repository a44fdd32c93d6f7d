// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"fmt"
	"net/netip"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// longestAddress is more than an address in text has, in bytes: eight groups,
// or six and an IPv4 address.
const longestAddress = 45

// ParseAddress reads one IPv4 or IPv6 address. What could be read in two ways
// is refused with INVALID_IP: leading zeros, which some programs take for octal, zones,
// networks, ports, names.
//
// An IPv4-mapped address (::ffff:192.0.2.1) is the IPv4 address, because the kernel
// shows IPv4 peers of IPv6 sockets that way. Addresses of translators (64:ff9b::/96, 2002::/16) are
// the IPv6 addresses that they are: packets carry them so, and a block of one says nothing
// about the IPv4 address inside. Those of this machine are refused in every form (otherSpelling).
func ParseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if len(text) > longestAddress || err != nil || address.Zone() != "" {
		return netip.Addr{}, fault.New(fault.InvalidIP,
			fmt.Sprintf("%s is not one IPv4 or IPv6 address: %s.", sanitize.Quoted(text, 60), addressProblem(text)))
	}
	return address.Unmap(), nil
}

// addressProblem says what is wrong with text, which is not an address.
func addressProblem(text string) string {
	_, socket := netip.ParseAddrPort(text)
	_, bare := netip.ParseAddr(strings.Trim(text, "[]"))
	_, trimmed := netip.ParseAddr(strings.TrimSpace(text))
	switch {
	case text == "":
		return "it is empty"
	case strings.Contains(text, "://"):
		return "it is a URL; send the address of the host alone"
	case strings.Contains(text, ",") || len(strings.Fields(text)) > 1:
		return "one address is blocked at a time"
	case strings.Contains(text, "/"):
		return "only single addresses are blocked, no networks"
	case strings.Contains(text, "%"):
		return "an address is blocked on every interface, so leave the zone out"
	case socket == nil, bare == nil:
		return "leave the brackets and the port out"
	case trimmed == nil:
		return "leave the blanks out"
	case leadingZero(text):
		return "a number with a leading zero can be read as decimal or as octal"
	default:
		return "names are not looked up, and numbers go from 0 to 255 in IPv4 and from 0 to ffff in IPv6"
	}
}

// leadingZero says that text has the form of an IPv4 address with a number
// such as 010.
func leadingZero(text string) bool {
	numbers, found := strings.Split(text, "."), false
	for _, n := range numbers {
		if n == "" || strings.Trim(n, "0123456789") != "" {
			return false
		}
		found = found || len(n) > 1 && n[0] == '0'
	}
	return len(numbers) == 4 && found
}
