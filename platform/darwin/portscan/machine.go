// SPDX-License-Identifier: Apache-2.0

// Package portscan is what a scan needs to know about the Mac that it starts from.
package portscan

import (
	"context"
	"net/netip"
	"slices"

	"sentinel/internal/network"
	"sentinel/internal/portscan"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/routing"
)

// A Machine is the Mac that a scan starts from.
type Machine struct {
	runner sysexec.Runner
	root   bool // sees the sockets of all users
}

var _ portscan.Machine = Machine{}

// NewMachine returns the Machine that runner runs programs on. euid is the
// effective user of this run.
func NewMachine(runner sysexec.Runner, euid int) Machine { return Machine{runner, euid == 0} }

// Networks implements [portscan.Machine]. The address of the far end of a tunnel
// is no network.
func (m Machine) Networks(ctx context.Context) ([]netip.Prefix, error) {
	list, err := routing.Interfaces(ctx, m.runner)
	if err != nil {
		return nil, err
	}
	var networks []netip.Prefix
	for _, i := range list {
		for _, a := range i.Addresses {
			if i.Up() {
				networks = append(networks, netip.PrefixFrom(a.Prefix.Addr().WithZone(""), a.Prefix.Bits()))
			}
		}
	}
	return networks, nil
}

// Listeners implements [portscan.Machine]. ports are in ascending order. launchd
// listens for the services that it starts on demand.
func (m Machine) Listeners(ctx context.Context, ports []uint16) ([]portscan.Listener, bool, error) {
	sockets, err := lsof.Sockets(ctx, m.runner)
	if err != nil {
		return nil, !m.root, err
	}
	var list []portscan.Listener
	for _, s := range sockets {
		_, wanted := slices.BinarySearch(ports, s.Local.Port())
		if wanted && s.Protocol == network.TCP && s.State == network.Listen {
			list = append(list, portscan.Listener{Address: s.Local, Exposed: !s.Local.Addr().IsLoopback(), PID: s.PID, Name: s.Command})
		}
	}
	return list, !m.root, nil
}
