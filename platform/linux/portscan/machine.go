// SPDX-License-Identifier: Apache-2.0

//go:build linux

package portscan

import (
	"context"
	"net/netip"
	"slices"

	"sentinel/internal/network"
	"sentinel/internal/portscan"
	"sentinel/platform/linux/interfaces"
	linuxnetwork "sentinel/platform/linux/network"
)

// maxListeners bounds how many listeners are looked up at once.
const maxListeners = 1000

// A Machine is the machine that a scan starts from.
type Machine struct {
	sockets network.Source
}

var _ portscan.Machine = (*Machine)(nil)

// NewMachine returns the Machine for root; "/" is the live system.
func NewMachine(root string) *Machine { return &Machine{linuxnetwork.New(root)} }

// Networks implements [portscan.Machine], for the caller's network namespace.
func (*Machine) Networks(context.Context) ([]netip.Prefix, error) {
	list, err := interfaces.List()
	if err != nil {
		return nil, err
	}
	var networks []netip.Prefix
	for _, l := range list {
		networks = append(networks, l.Addresses...)
	}
	return networks, nil
}

// Listeners implements [portscan.Machine]. ports are in ascending order.
func (m *Machine) Listeners(ctx context.Context, ports []uint16) ([]portscan.Listener, bool, error) {
	var found []network.Socket
	err := m.sockets.Sockets(ctx, func(s network.Socket) {
		_, wanted := slices.BinarySearch(ports, s.Local.Port())
		if wanted && s.Protocol == network.TCP && s.State == network.Listen && len(found) < maxListeners {
			found = append(found, s)
		}
	})
	if err != nil {
		return nil, false, err
	}
	owners, denied, err := m.sockets.Owners(ctx, found)
	list := make([]portscan.Listener, len(found))
	for i, s := range found {
		list[i] = portscan.Listener{Address: s.Local, Exposed: s.Exposed(), PID: owners[s.ID].PID, Name: owners[s.ID].Name}
	}
	return list, denied, err
}
