// SPDX-License-Identifier: Apache-2.0

// Package dnslookup lists the name servers that programs on Linux ask.
package dnslookup

import (
	"context"
	"net/netip"
	"path/filepath"

	"sentinel/platform/linux/resolvconf"
	"sentinel/platform/unix/hostfile"
)

const (
	dnsPort = 53
	// maxServers bounds how many name servers are asked. The C library asks three.
	maxServers = 8
)

// NameServers returns a function that lists the name servers which programs on
// the machine below root ask, in their order and whatever the name (resolv.conf(5)). Without the
// file, or without a server in it, that is the one on this machine.
func NameServers(root string) func(context.Context, string) ([]netip.AddrPort, error) {
	return func(context.Context, string) ([]netip.AddrPort, error) {
		addresses, err := resolvconf.Servers(filepath.Join(root, "etc/resolv.conf"))
		if err != nil && !hostfile.Missing(err) {
			return nil, hostfile.Reason(err)
		}
		if len(addresses) == 0 {
			addresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
		}
		var servers []netip.AddrPort
		for _, a := range addresses[:min(len(addresses), maxServers)] {
			servers = append(servers, netip.AddrPortFrom(a.Unmap(), dnsPort))
		}
		return servers, nil
	}
}
