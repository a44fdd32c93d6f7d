// SPDX-License-Identifier: Apache-2.0

// Package vpn knows the programs that carry the traffic of a VPN, over which the
// owner may reach the machine. Anyone can give a program such a name: callers must
// check the user too.
package vpn

import "slices"

var daemons = []string{
	"openvpn", "ocserv", "ocserv-main", "ocserv-worker", "openconnect", "tailscaled", "cloudflared", "wireguard-go", "boringtun",
	"boringtun-cli", "zerotier-one", "nebula", "tincd", "netbird", "charon", "charon-systemd", "pluto", "starter", "xl2tpd", "fastd",
}

// Daemons returns the process names of programs that carry the traffic of a VPN.
func Daemons() []string { return slices.Clone(daemons) }

// IsDaemon reports whether processes of this name carry the traffic of a VPN.
func IsDaemon(name string) bool { return slices.Contains(daemons, name) }
