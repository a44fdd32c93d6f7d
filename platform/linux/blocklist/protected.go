// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/procfs"
)

// HostContext reads what this machine must not lose contact with: its own
// addresses, its gateways and name servers, who is logged in over SSH, and the other ends of
// the tunnels that such a session may come through.
type HostContext struct {
	root   string
	proc   procfs.FS
	kernel kernel
}

var _ blocklist.HostContext = (*HostContext)(nil)

// NewHostContext returns the HostContext of the system below root; "/" is the
// live one. Addresses and routes are always those of the caller's network namespace.
func NewHostContext(root string) *HostContext {
	return &HostContext{root: root, proc: procfs.New(root), kernel: liveKernel()}
}

// ProtectedAddrs implements [blocklist.HostContext].
func (s *HostContext) ProtectedAddrs(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	return blocklist.ReadProtected(ctx, []blocklist.ProtectedPart{
		{Name: "addresses", Read: s.ownAddresses},
		{Name: "routes", Read: s.routes},
		{Name: "name servers", Read: s.resolvers},
		{Name: "SSH sessions", Read: s.sessionPeers},
	}...)
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
