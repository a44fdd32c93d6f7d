// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/vpn"
	"sentinel/platform/unix/hostfile"
)

// A tunnelKind is what carries the packets of an interface. Those of a tunnel
// come in inside of others, by a port that has to stay open as well.
type tunnelKind int

const (
	noTunnel tunnelKind = iota
	wireGuard
	userSpace // TUN or TAP: a process carries them
)

// tunnel finds the kind of the interface that has an address: WireGuard by its
// DEVTYPE, TUN and TAP by their flags in /sys.
func tunnel(local netip.Addr) tunnelKind {
	interfaces, err := net.Interfaces()
	if err != nil {
		return noTunnel
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil || !holds(addresses, local) {
			continue
		}
		dir := filepath.Join("/sys/class/net", filepath.Base(i.Name))
		if _, err := os.Lstat(filepath.Join(dir, "tun_flags")); err == nil {
			return userSpace
		}
		if raw, err := hostfile.Read(filepath.Join(dir, "uevent"), 4096); err == nil && bytes.Contains(raw, []byte("DEVTYPE=wireguard")) {
			return wireGuard
		}
	}
	return noTunnel
}

func holds(addresses []net.Addr, local netip.Addr) bool {
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().WithZone("") == local.WithZone("") {
			return true
		}
	}
	return false
}

// carriers are the exposed ports that packets of a tunnel may come in by. A
// tunnel without one was opened from here, and its packets are answers.
func (m *Manager) carriers(kind tunnelKind, listening []network.Socket, owners map[uint64]network.Owner) []firewall.Port {
	var ports []firewall.Port
	for _, s := range listening {
		owner, owned := owners[s.ID]
		kernel := kind == wireGuard && !owned && s.Protocol == network.UDP && !otherKernelPort(s.Local.Port())
		if kernel || kind == userSpace && owned && m.isTunnelDaemon(owner) {
			ports = append(ports, firewall.Port{Number: s.Local.Port(), Protocol: string(s.Protocol)})
		}
	}
	return ports
}

// otherKernelPort knows the UDP sockets without a process that are no
// WireGuard's and let anyone in: rpcbind and NFS, VXLAN, GENEVE.
func otherKernelPort(port uint16) bool {
	switch port {
	case 111, 2049, 4789, 6081, 8472:
		return true
	}
	return false
}

// isTunnelDaemon recognises them by name and by a user who is none of the
// people; some give up root.
func (m *Manager) isTunnelDaemon(o network.Owner) bool {
	if !vpn.IsDaemon(o.Name) {
		return false
	}
	uid, err := m.sockets.uid(o.PID)
	return err == nil && (uid < 1000 || uid == 65534)
}
