// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
	"sentinel/internal/vpn"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/routing"
)

// sessionPeers lists the other ends of sessions, and of the proxies and tunnels that carry
// them.
func (s HostContext) sessionPeers(ctx context.Context, interfaces []routing.Interface) ([]blocklist.ProtectedAddr, error) {
	m, err := s.sessions.Model(ctx)
	if err != nil {
		return nil, err
	}
	list, hidden := blocklist.ProtectSessions(m)
	sockets, err := lsof.Sockets(ctx, s.runner)
	if err != nil {
		return list, errors.Join(hidden, err)
	}
	ends, unknown := tunnelEnds(interfaces, sockets, m.Connections)
	return append(list, ends...), errors.Join(hidden, unknown)
}

// tunnelEnds lists the other ends of the tunnels of programs: with whom known
// VPN daemons talk. Where a session comes through a tunnel whose other end is not known, any address
// might be it, which is an error: the extensions that make the tunnels of most VPN
// programs show no other end.
func tunnelEnds(interfaces []routing.Interface, sockets []lsof.Socket, open []sessions.Connection) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	for _, k := range sockets {
		if carriesTunnel(k) && k.Remote.IsValid() && !k.Remote.Addr().IsLoopback() {
			list = append(list, blocklist.Protect(k.Remote.Addr(), "whom "+sanitize.Text(k.Command, 32)+" has its tunnel with"))
		}
	}
	slices.SortFunc(list, func(a, b blocklist.ProtectedAddr) int {
		return cmp.Or(a.Prefix.Compare(b.Prefix), cmp.Compare(a.Why, b.Why))
	})
	list = slices.Compact(list)
	for _, i := range interfaces {
		if i.PointToPoint() && carries(i, open) && !i.Tunnel.IsValid() && len(list) == 0 {
			return list, fmt.Errorf("the other end of the tunnel %s, which a session comes through, is not known", sanitize.Text(i.Name, 15))
		}
	}
	return list, nil
}

// carriesTunnel says that the socket is one of a VPN daemon. Anybody can give a program such a name, and
// connect it with an address that must not become one that cannot be blocked, so that the user of
// the process decides. Its file does not: that of a daemon of Homebrew, which root runs, belongs to a person.
func carriesTunnel(k lsof.Socket) bool { return vpn.IsDaemon(k.Command) && k.OfSystem() }

// carries says that a session comes in at an address of the interface.
func carries(i routing.Interface, open []sessions.Connection) bool {
	return slices.ContainsFunc(i.Addresses, func(a routing.Address) bool {
		return slices.ContainsFunc(open, func(o sessions.Connection) bool { return o.Local == a.Prefix.Addr() })
	})
}
