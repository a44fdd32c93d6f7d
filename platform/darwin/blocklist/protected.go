// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/routing"
)

// HostContext reads what this machine must not lose contact with: its own
// addresses, its gateways and name servers, who is logged in over SSH, and the other ends of
// the tunnels that such a session may come through.
type HostContext struct {
	runner sysexec.Runner
	euid   int
}

var _ blocklist.HostContext = HostContext{}

// NewHostContext returns the Surroundings that programs of runner tell, for an
// effective user: who is logged in is for root to see.
func NewHostContext(runner sysexec.Runner, euid int) HostContext {
	return HostContext{runner, euid}
}

// Vital implements [blocklist.HostContext].
func (s HostContext) ProtectedAddrs(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	interfaces, err := routing.Interfaces(ctx, s.runner)
	all, errs := ofInterfaces(interfaces), []error{named("addresses", err)}
	for _, part := range []struct {
		what string
		read func(context.Context) ([]blocklist.ProtectedAddr, error)
	}{
		{"routes", s.gateways},
		{"name servers", s.resolvers},
		{"SSH sessions", func(ctx context.Context) ([]blocklist.ProtectedAddr, error) { return s.ways(ctx, interfaces) }},
	} {
		found, err := part.read(ctx)
		all = append(all, found...)
		errs = append(errs, named(part.what, err))
	}
	return all, errors.Join(errs...)
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ofInterfaces lists the own addresses, the broadcasts of their networks, the
// machine at the other end of a line, and the far ends of the kernel's tunnels.
func ofInterfaces(interfaces []routing.Interface) []blocklist.ProtectedAddr {
	var list []blocklist.ProtectedAddr
	for _, i := range interfaces {
		name := sanitize.Text(i.Name, 15)
		for _, a := range i.Addresses {
			own := vital(a.Prefix.Addr(), "an address of this machine, on "+name)
			own.Own = true
			list = append(list, own)
			if b, ok := broadcast(a.Prefix); ok && !i.PointToPoint() {
				list = append(list, vital(b, "a broadcast address of a network of this machine"))
			}
			if a.Peer.IsValid() && a.Peer != a.Prefix.Addr() {
				list = append(list, vital(a.Peer, "the other end of the line "+name))
			}
		}
		if i.Tunnel.IsValid() && !i.Tunnel.IsUnspecified() {
			list = append(list, vital(i.Tunnel, "the other end of the tunnel "+name))
		}
	}
	return list
}

// broadcast returns the last address of a network of IPv4, where it has one.
func broadcast(p netip.Prefix) (netip.Addr, bool) {
	if !p.Addr().Is4() || p.Bits() > 30 || p.Addr().IsLoopback() {
		return netip.Addr{}, false
	}
	raw := p.Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(raw), true
}

// gateways lists where the default routes lead. Those of other interfaces than
// the first, which only programs bound to them use, are not seen.
func (s HostContext) gateways(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	var errs []error
	for _, f := range []routing.Family{routing.IPv4, routing.IPv6} {
		r, err := routing.Default(ctx, s.runner, f)
		if err != nil && !errors.Is(err, routing.ErrNoRoute) {
			errs = append(errs, err)
		}
		if r.Gateway.IsValid() {
			list = append(list, vital(r.Gateway, "a default gateway of this machine"))
		}
	}
	return list, errors.Join(errs...)
}

func (s HostContext) resolvers(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	resolvers, err := routing.Resolvers(ctx, s.runner)
	var list []blocklist.ProtectedAddr
	seen := map[netip.Addr]bool{}
	for _, r := range resolvers {
		for _, a := range r.Servers {
			if !seen[a] {
				seen[a] = true
				list = append(list, vital(a, "a name server of this machine"))
			}
		}
	}
	return list, err
}

// vital is about one address. A zone has no meaning here: what is blocked is
// blocked on every interface.
func vital(a netip.Addr, why string) blocklist.ProtectedAddr {
	a = a.Unmap().WithZone("")
	return blocklist.ProtectedAddr{Prefix: netip.PrefixFrom(a, a.BitLen()), Why: why}
}
