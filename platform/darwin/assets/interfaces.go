// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"fmt"
	"net"
	"slices"

	"sentinel/internal/assets"
	"sentinel/platform/darwin/routing"
)

// Interfaces implements [assets.Source].
func (v *Inventory) Interfaces(ctx context.Context) ([]assets.Link, error) {
	v.begin(ctx)
	list, err := v.links()
	if err != nil {
		return nil, err
	}
	ports, err := v.ports()
	links := make([]assets.Link, 0, len(list))
	for _, i := range list {
		one := link(i)
		one.Port = ports[i.Name]
		links = append(links, one)
	}
	if err != nil {
		return links, fmt.Errorf("the names of hardware ports are missing: %w", err)
	}
	return links, nil
}

// link takes an interface for one that carries traffic when it is running and
// its line, where it has one, is not inactive: ports without a cable are "up" as well.
func link(i routing.Interface) assets.Link {
	l := assets.Link{
		Name: i.Name, MAC: hardwareAddress(i.Ether), MTU: i.MTU, Loopback: slices.Contains(i.Flags, "LOOPBACK"),
		Up:        i.Up() && slices.Contains(i.Flags, "RUNNING") && i.Status != "inactive",
		Addresses: []string{},
	}
	for _, a := range i.Addresses {
		l.Addresses = append(l.Addresses, a.Prefix.String())
	}
	return l
}

// hardwareAddress leaves out the address of no device.
func hardwareAddress(printed string) string {
	mac, err := net.ParseMAC(printed)
	if err != nil || !slices.ContainsFunc(mac, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return mac.String()
}
