// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"strconv"
	"strings"

	"sentinel/internal/firewall"
)

// parseSSHD takes the TCP ports out of what "sshd -T" prints, the effective
// configuration (sshd(8)): "port 22" for each port, and "listenaddress [::]:22"
// for each address, which may have a port of its own. Loopback is no way in.
func parseSSHD(b []byte) []firewall.Port {
	var ports, addressed []firewall.Port
	for line := range strings.Lines(string(b)) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToLower(word) {
		case "port":
			if n, err := strconv.ParseUint(value, 10, 16); err == nil && n > 0 {
				ports = append(ports, firewall.Port{Number: uint16(n), Protocol: "tcp"})
			}
		case "listenaddress":
			if p, ok := exposedPort(value); ok {
				addressed = append(addressed, p)
			}
		}
	}
	if addressed != nil {
		return addressed
	}
	return ports
}

// exposedPort reads an address with a port as sshd and systemd write them, and
// a bare port, which means every address.
func exposedPort(text string) (firewall.Port, bool) {
	if n, err := strconv.ParseUint(text, 10, 16); err == nil && n > 0 {
		return firewall.Port{Number: uint16(n), Protocol: "tcp"}, true
	}
	text, _, _ = strings.Cut(text, " ") // sshd appends "rdomain NAME"
	a, err := netip.ParseAddrPort(text)
	if err != nil || a.Port() == 0 || a.Addr().IsLoopback() {
		return firewall.Port{}, false
	}
	return firewall.Port{Number: a.Port(), Protocol: "tcp"}, true
}
