// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"fmt"
	"slices"

	"sentinel/internal/firewall"
	"sentinel/platform/linux/procfs"
)

// protocols lists the protocols without ports that services of the system receive by raw sockets
// (raw(7)): those of routing, as OSPF, and of machines that stand in for each other, as VRRP. Kernels
// rarely have sock_diag for them, and /proc/net has a few lines.
func (m *Manager) protocols() ([]firewall.Port, error) {
	var list []firewall.Port
	for _, table := range []string{"raw", "raw6"} {
		err := m.sockets.table(table, func(s procfs.Socket) {
			if p, ok := receives(s); ok {
				list = append(list, p)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read the raw sockets: %w", err)
		}
	}
	slices.SortFunc(list, firewall.Port.Compare)
	return slices.Compact(list), nil
}

// receives returns the protocol of a raw socket, which has its number for a port. Those of ordinary users
// are of programs such as ping.
func receives(s procfs.Socket) (firewall.Port, bool) {
	number := s.Local.Port()
	if number > 255 || s.Local.Addr().IsLoopback() || !procfs.SystemAccount(s.UID) {
		return firewall.Port{}, false
	}
	return firewall.Protocol(uint8(number))
}
