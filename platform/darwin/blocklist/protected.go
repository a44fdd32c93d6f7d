// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/routing"
	macsessions "sentinel/platform/darwin/sessions"
	"sentinel/platform/unix/servernames"
)

// HostContext reads what this machine must not lose contact with: its own
// addresses, its gateways and name servers, who is logged in over SSH, and the other ends of
// the tunnels that such a session may come through.
type HostContext struct {
	runner   sysexec.Runner
	sessions *macsessions.Reader
	root     string // with the files of the configuration
}

var _ blocklist.HostContext = HostContext{}

// NewHostContext returns the HostContext that programs of runner tell, for an
// effective user: only root sees who is logged in. pid is that of this run, root where the files of
// the configuration are.
func NewHostContext(runner sysexec.Runner, euid, pid int, root string) HostContext {
	return HostContext{runner, macsessions.New(runner, euid, pid), root}
}

// NamedAddrs implements [blocklist.HostContext].
func (s HostContext) NamedAddrs(ctx context.Context, _ []blocklist.ProtectedAddr) ([]blocklist.ProtectedAddr, error) {
	return servernames.Lookup(ctx, s.root, &net.Resolver{})
}

// ProtectedAddrs implements [blocklist.HostContext].
func (s HostContext) ProtectedAddrs(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	interfaces, err := routing.Interfaces(ctx, s.runner)
	return blocklist.ReadProtected(ctx, []blocklist.ProtectedPart{
		{Name: "addresses", Read: func(context.Context) ([]blocklist.ProtectedAddr, error) { return protectInterfaces(interfaces), err }},
		{Name: "routes", Read: s.gateways},
		{Name: "name servers", Read: s.resolvers},
		{Name: "configuration", Read: func(context.Context) ([]blocklist.ProtectedAddr, error) { return servernames.Addresses(s.root) }},
		{Name: "sessions", Read: func(ctx context.Context) ([]blocklist.ProtectedAddr, error) { return s.sessionPeers(ctx, interfaces) }},
	}...)
}

// protectInterfaces lists the own addresses, the broadcasts of their networks, the
// machine at the other end of a line, and the far ends of the kernel's tunnels.
func protectInterfaces(interfaces []routing.Interface) []blocklist.ProtectedAddr {
	var list []blocklist.ProtectedAddr
	for _, i := range interfaces {
		name := sanitize.Text(i.Name, 15)
		for _, a := range i.Addresses {
			list = append(list, blocklist.ProtectOwn(a.Prefix.Addr(), blocklist.WhyOwn+", on "+name))
			if b, ok := broadcast(a.Prefix); ok && !i.PointToPoint() {
				list = append(list, blocklist.Protect(b, blocklist.WhyBroadcast))
			}
			if a.Peer.IsValid() && a.Peer != a.Prefix.Addr() {
				list = append(list, blocklist.Protect(a.Peer, "the other end of the line "+name))
			}
		}
		if i.Tunnel.IsValid() && !i.Tunnel.IsUnspecified() {
			list = append(list, blocklist.Protect(i.Tunnel, "the other end of the tunnel "+name))
		}
	}
	return list
}

// broadcast returns the broadcast address of an IPv4 network, if it has one.
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

// gateways lists where the default routes lead. Only those of the first interface
// are seen; programs use the others only when they are bound to them.
func (s HostContext) gateways(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	var errs []error
	for _, f := range []routing.Family{routing.IPv4, routing.IPv6} {
		r, err := routing.Default(ctx, s.runner, f)
		if err != nil && !errors.Is(err, routing.ErrNoRoute) {
			errs = append(errs, err)
		}
		if r.Gateway.IsValid() {
			list = append(list, blocklist.Protect(r.Gateway, blocklist.WhyGateway))
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
				list = append(list, blocklist.Protect(a, blocklist.WhyNameServer))
			}
		}
	}
	return list, err
}
