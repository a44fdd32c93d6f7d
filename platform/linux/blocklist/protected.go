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

// HostContext reads what this machine must not lose contact with: its own
// addresses, its gateways and name servers, who is logged in over SSH, and the other ends of
// the tunnels that such a session may come through.
type HostContext struct {
	root string
	proc procfs.FS
}

var _ blocklist.HostContext = (*HostContext)(nil)

// NewHostContext returns the Surroundings below root; "/" is the live system.
// Addresses and routes are always those of the caller's network namespace.
func NewHostContext(root string) *HostContext {
	return &HostContext{root: root, proc: procfs.New(root)}
}

// Vital implements [blocklist.HostContext].
func (s *HostContext) ProtectedAddrs(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	var all []blocklist.ProtectedAddr
	var errs []error
	for _, part := range []struct {
		what string
		read func(context.Context) ([]blocklist.ProtectedAddr, error)
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
func ownAddresses(context.Context) ([]blocklist.ProtectedAddr, error) {
	interfaces, err := links.List()
	if err != nil {
		return nil, err
	}
	var list []blocklist.ProtectedAddr
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
func vital(a netip.Addr, why string) blocklist.ProtectedAddr {
	a = a.Unmap().WithZone("")
	return blocklist.ProtectedAddr{Prefix: netip.PrefixFrom(a, a.BitLen()), Why: why}
}
