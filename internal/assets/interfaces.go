// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"cmp"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
)

// maxAddresses is how many addresses one interface shows by default.
const maxAddresses = 8

func (c *collector) interfaces(links []Link, err error) {
	c.gaps.Add("network.interfaces", err)
	if err != nil && len(links) == 0 {
		return
	}
	n := &c.asset.Network
	total := len(links)
	n.InterfacesTotal = &total
	links = slices.Clone(links)
	slices.SortStableFunc(links, func(a, b Link) int { return cmp.Compare(a.rank(), b.rank()) })
	if c.limit > 0 && len(links) > c.limit {
		links, n.Truncated = links[:c.limit], true
	}
	n.Interfaces = make([]Interface, 0, len(links))
	for _, l := range links {
		n.Interfaces = append(n.Interfaces, c.row(l))
	}
}

// rank sorts interfaces by interest: up with an address that others can reach,
// loopback, up without one, down.
func (l Link) rank() int {
	switch {
	case l.Loopback:
		return 1
	case l.Up && slices.ContainsFunc(l.Addresses, func(a string) bool { return !strings.HasPrefix(a, "fe80:") }):
		return 0
	case l.Up:
		return 2
	default:
		return 3
	}
}

func (c *collector) row(l Link) Interface {
	r := Interface{
		Name:      sanitize.Text(l.Name, 32),
		Port:      sanitize.Text(l.Port, 64),
		MAC:       sanitize.Text(l.MAC, 64),
		MTU:       l.MTU,
		State:     "down",
		SpeedMbps: l.SpeedMbps,
		Addresses: slices.Clone(l.Addresses),
		Loopback:  l.Loopback,
	}
	if l.Up {
		r.State = "up"
	}
	if c.limit > 0 && len(r.Addresses) > maxAddresses {
		r.AddressesTotal = len(r.Addresses)
		r.Addresses = r.Addresses[:maxAddresses]
	}
	if r.Addresses == nil {
		r.Addresses = []string{}
	}
	return r
}
