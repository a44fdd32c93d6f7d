// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/links"
	"sentinel/platform/linux/procfs"
)

// Surroundings reads what this machine must not lose contact with: its own
// addresses, its gateways and name servers, who is logged in over SSH, and the other ends of
// the tunnels that such a session may come through.
type Surroundings struct {
	root string
	proc procfs.FS
}

var _ blocklist.Surroundings = (*Surroundings)(nil)

// NewSurroundings returns the Surroundings below root; "/" is the live system.
// Addresses and routes are always those of the caller's network namespace.
func NewSurroundings(root string) *Surroundings {
	return &Surroundings{root: root, proc: procfs.New(root)}
}

// Vital implements [blocklist.Surroundings].
func (s *Surroundings) Vital(ctx context.Context) ([]blocklist.Vital, error) {
	var all []blocklist.Vital
	var errs []error
	for _, part := range []struct {
		what string
		read func(context.Context) ([]blocklist.Vital, error)
	}{
		{"addresses", ownAddresses},
		{"routes", routed},
		{"name servers", s.resolvers},
		{"SSH sessions", s.ways},
	} {
		found, err := part.read(ctx)
		all = append(all, found...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", part.what, err))
		}
	}
	return all, errors.Join(errs...)
}

// ownAddresses lists those of the interfaces. One of IPv6 has no route while
// its interface is down.
func ownAddresses(context.Context) ([]blocklist.Vital, error) {
	interfaces, err := links.List()
	if err != nil {
		return nil, err
	}
	var list []blocklist.Vital
	for _, l := range interfaces {
		for _, p := range l.Addresses {
			v := vital(p.Addr(), "an address of this machine, on "+sanitize.Text(l.Name, 15))
			v.Own = true
			list = append(list, v)
		}
	}
	return list, nil
}

// vital is about one address. A zone has no meaning here: what is blocked is
// blocked on every interface.
func vital(a netip.Addr, why string) blocklist.Vital {
	a = a.Unmap().WithZone("")
	return blocklist.Vital{Prefix: netip.PrefixFrom(a, a.BitLen()), Why: why}
}
