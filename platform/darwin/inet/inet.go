// SPDX-License-Identifier: Apache-2.0

// Package inet parses socket addresses and states as the programs of macOS print them.
package inet

import (
	"net/netip"
	"strconv"
	"strings"

	"sentinel/internal/network"
)

// states are the names of <netinet/tcp_fsm.h>, which lsof(8) and netstat(1)
// both print, and the spellings that differ between releases.
var states = [...]struct {
	name  string
	state network.State
}{
	{"CLOSED", network.Closed}, {"LISTEN", network.Listen}, {"SYN_SENT", network.SynSent},
	{"SYN_RCVD", network.SynReceived}, {"SYN_RECEIVED", network.SynReceived}, {"ESTABLISHED", network.Established},
	{"CLOSE_WAIT", network.CloseWait}, {"FIN_WAIT_1", network.FinWait1}, {"CLOSING", network.Closing},
	{"LAST_ACK", network.LastAck}, {"FIN_WAIT_2", network.FinWait2}, {"TIME_WAIT", network.TimeWait},
}

// State returns the state of a TCP socket by its name, and false for any other word.
func State(name string) (network.State, bool) {
	for _, s := range states {
		if s.name == name {
			return s.state, true
		}
	}
	return "", false
}

// Address parses a host and a port in which "*" stands for any. v6 decides whether any host is
// 0.0.0.0 or [::]. Any port is 0.
func Address(host, port string, v6 bool) (netip.AddrPort, bool) {
	number := uint64(0)
	if port != "*" {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil {
			return netip.AddrPort{}, false
		}
	}
	ip := netip.IPv4Unspecified()
	if host == "*" && v6 {
		ip = netip.IPv6Unspecified()
	}
	if host != "*" {
		var err error
		if ip, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err != nil {
			return netip.AddrPort{}, false
		}
	}
	return netip.AddrPortFrom(Unscoped(ip.Unmap()), uint16(number)), true
}

// Unscoped removes the interface index from a link-local address. The kernel keeps it in the third
// and fourth byte, which are zero in the address itself (RFC 4291, section 2.5.6), and some
// programs print it there: fe80:4::1.
func Unscoped(ip netip.Addr) netip.Addr {
	if !ip.Is6() || !ip.IsLinkLocalUnicast() && !ip.IsLinkLocalMulticast() {
		return ip
	}
	raw := ip.As16()
	raw[2], raw[3] = 0, 0
	return netip.AddrFrom16(raw).WithZone(ip.Zone())
}
