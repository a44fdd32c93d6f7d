// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"net"
	"slices"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
	linuxsessions "sentinel/platform/linux/sessions"
	"sentinel/platform/linux/tunnels"
	"sentinel/platform/unix/servernames"
)

// HostContext reads what this machine must not lose contact with: its own
// addresses, its gateways and name servers, the other ends of the kernel's tunnels and of those that lead out, the servers of what
// is mounted and those that its configuration names, and what carries the sessions of those who are
// logged in.
type HostContext struct {
	root     string
	sessions interface {
		Model(ctx context.Context) (*sessions.Model, error)
	}
	kernel kernel
	out    func(context.Context) ([]sessions.Tunnel, error)
	names  blocklist.Lookup
}

var _ blocklist.HostContext = (*HostContext)(nil)

// NewHostContext returns the HostContext of the system below root; "/" is the
// live one. Addresses and routes are always those of the caller's network namespace.
func NewHostContext(root string) *HostContext {
	out := func(ctx context.Context) ([]sessions.Tunnel, error) { return tunnels.New(root).Out(ctx) }
	return &HostContext{root: root, sessions: linuxsessions.New(root), kernel: liveKernel(), out: out, names: &net.Resolver{PreferGo: true}}
}

// ProtectedAddrs implements [blocklist.HostContext].
func (s *HostContext) ProtectedAddrs(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	return blocklist.ReadProtected(ctx, []blocklist.ProtectedPart{
		{Name: "addresses", Read: s.ownAddresses},
		{Name: "routes", Read: s.routes},
		{Name: "name servers", Read: s.resolvers},
		{Name: "tunnels", Read: s.tunnelEnds},
		{Name: "tunnels of routes", Read: s.encaps},
		{Name: "ways out", Read: s.waysOut},
		{Name: "storage", Read: s.storage},
		{Name: "served file systems", Read: s.served},
		{Name: "configuration", Read: func(context.Context) ([]blocklist.ProtectedAddr, error) { return servernames.Addresses(s.root) }},
		{Name: "sessions", Read: s.sessionPeers},
	}...)
}

// NamedAddrs implements [blocklist.HostContext].
func (s *HostContext) NamedAddrs(ctx context.Context, protected []blocklist.ProtectedAddr) ([]blocklist.ProtectedAddr, error) {
	named, err := servernames.Lookup(ctx, s.root, s.names)
	behind, untracked := s.translated(ctx, slices.Concat(protected, named))
	return append(named, behind...), errors.Join(err, untracked)
}

// ownAddresses lists those of the interfaces. An IPv6 address has no route while
// its interface is down.
func (s *HostContext) ownAddresses(context.Context) ([]blocklist.ProtectedAddr, error) {
	interfaces, err := s.kernel.links()
	if err != nil {
		return nil, err
	}
	var list []blocklist.ProtectedAddr
	for _, l := range interfaces {
		for _, p := range l.Addresses {
			list = append(list, blocklist.ProtectOwn(p.Addr(), blocklist.WhyOwn+", on "+sanitize.Text(l.Name, 15)))
		}
	}
	return list, nil
}

// sessionPeers lists the other ends of sessions, and of the proxies and tunnels that carry them.
func (s *HostContext) sessionPeers(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	m, err := s.sessions.Model(ctx)
	if err != nil {
		return nil, err
	}
	return blocklist.ProtectSessions(m)
}
