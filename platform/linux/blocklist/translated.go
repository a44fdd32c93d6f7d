// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/resolvconf"
)

// translated adds to what is protected where rules of this machine's packet filter (DNAT) send what goes there from
// here: a block drops the packets of that address. Connection tracking tells it of what was called lately. It comes
// and goes with that, so it keeps new blocks away alone. What sessions depend on is told with them,
// connection by connection.
func (s *HostContext) translated(ctx context.Context, protected []blocklist.ProtectedAddr) (list []blocklist.ProtectedAddr, err error) {
	own, servers := map[netip.Addr]bool{}, map[netip.Addr][]blocklist.ProtectedAddr{}
	var names []netip.Addr
	for _, p := range protected {
		switch a := p.Prefix.Addr().Unmap(); {
		case p.Own:
			own[a] = true
		case p.Prefix.IsSingleIP() && p.Sessions == nil:
			if servers[a] = append(servers[a], p); answersNames(p) && !slices.Contains(names, a) {
				names = append(names, a)
			}
		}
	}
	s.kernel.ask(ctx, names)
	server := func(t conntrack.Translation) int {
		return slices.IndexFunc(servers[t.Called.Addr()], func(p blocklist.ProtectedAddr) bool { return asked(p, t.Called, own) })
	}
	seen := map[[2]netip.Addr]bool{} // whoever may call a server may call each of its ports
	found, err := s.kernel.translations(ctx, func(t conntrack.Translation) bool {
		way := [2]netip.Addr{t.Called.Addr(), t.Wire.Addr()}
		wanted := !seen[way] && t.FromHere(func(a netip.Addr) bool { return own[a] }) && server(t) >= 0
		seen[way] = seen[way] || wanted
		return wanted
	})
	for _, t := range found {
		called := t.Called.Addr()
		list = append(list, blocklist.Protect(t.Wire.Addr(), fmt.Sprintf("where a rule of the packet filter sends what goes to %s, which is %s", called, servers[called][server(t)].Why)))
	}
	if errors.Is(err, fs.ErrPermission) {
		err = nil // whoever may not ask may not block an address either
	}
	if err != nil {
		err = fmt.Errorf("translations: %w", err)
	}
	return list, err
}

// asked reports whether it is what is protected that a program called. At an address of this machine root publishes
// ports of containers to anybody, so there it is known of name servers alone, by their ports.
func asked(p blocklist.ProtectedAddr, called netip.AddrPort, own map[netip.Addr]bool) bool {
	if answersNames(p) {
		return slices.Contains(resolvconf.Ports, called.Port())
	}
	return !own[called.Addr()] && !called.Addr().IsLoopback()
}

func answersNames(p blocklist.ProtectedAddr) bool {
	return p.Why == blocklist.WhyNameServer || p.Why == blocklist.WhyUpstream
}
