// SPDX-License-Identifier: Apache-2.0

package processes

import "slices"

// tunnelDaemons carry the packets of a VPN, and so perhaps the session of the
// machine's owner.
var tunnelDaemons = []string{
	"openvpn", "ocserv", "ocserv-main", "ocserv-worker", "openconnect", "tailscaled", "cloudflared", "wireguard-go", "boringtun",
	"boringtun-cli", "zerotier-one", "nebula", "tincd", "netbird", "charon", "charon-systemd", "pluto", "starter", "xl2tpd", "fastd",
}

// IsTunnelDaemon says whether programs of this name carry the packets of a VPN.
// Anyone may call a program anything: callers look at its user as well.
func IsTunnelDaemon(name string) bool { return slices.Contains(tunnelDaemons, name) }
