// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"net/netip"
	"strings"
)

// maxServers bounds how many name servers are asked. The C library asks three.
const maxServers = 8

const dnsPort = 53

// ParseServers reads the name servers of a resolv.conf(5), in their order. One
// that is no address is one that the C library does not ask either; without any, the one on
// this machine is asked.
func ParseServers(text string) []netip.AddrPort {
	var servers []netip.AddrPort
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" || len(servers) == maxServers {
			continue
		}
		if a, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, netip.AddrPortFrom(a.Unmap(), dnsPort))
		}
	}
	if len(servers) == 0 {
		servers = append(servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), dnsPort))
	}
	return servers
}
