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
// programs show no other end. No program tells which daemon has which tunnel, so that the ends are
// known only where there are no more tunnels than daemons.
func tunnelEnds(interfaces []routing.Interface, sockets []lsof.Socket, open []sessions.Connection) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	daemons := map[int]bool{}
	for _, k := range sockets {
		if carriesTunnel(k) && k.Remote.IsValid() && !k.Remote.Addr().IsLoopback() {
			daemons[k.PID] = true
			list = append(list, blocklist.Protect(k.Remote.Addr(), "whom "+sanitize.Quoted(k.Command, 32)+" has its tunnel with"))
		}
	}
	slices.SortFunc(list, func(a, b blocklist.ProtectedAddr) int {
		return cmp.Or(a.Prefix.Compare(b.Prefix), cmp.Compare(a.Why, b.Why))
	})
	list = slices.Compact(list)
	ofPrograms := slices.DeleteFunc(slices.Clone(interfaces), func(i routing.Interface) bool { return !ofProgram(i) })
	for _, i := range ofPrograms {
		if carries(i, open) && len(ofPrograms) > len(daemons) {
			return list, fmt.Errorf("the other end of the tunnel %s, which a session comes through, is not known", sanitize.Text(i.Name, 15))
		}
	}
	return list, nil
}

// carriesTunnel says that the socket is one of a VPN daemon. Anybody can give a program such a name, and
// connect it with an address that must not become one that cannot be blocked, so that the user of
// the process decides. Its file does not: that of a daemon of Homebrew, which root runs, belongs to a person.
func carriesTunnel(k lsof.Socket) bool { return vpn.IsDaemon(k.Command) && k.OfSystem() }

// ofProgram says that the interface is the tunnel of a program. Those of the system alone, which every Mac
// has, have no address but a link-local one.
func ofProgram(i routing.Interface) bool {
	routed := func(a routing.Address) bool { return !a.Prefix.Addr().IsLinkLocalUnicast() }
	return i.PointToPoint() && !i.Tunnel.IsValid() && slices.ContainsFunc(i.Addresses, routed)
}

// carries says that a session comes in at an address of the interface.
func carries(i routing.Interface, open []sessions.Connection) bool {
	return slices.ContainsFunc(i.Addresses, func(a routing.Address) bool {
		return slices.ContainsFunc(open, func(o sessions.Connection) bool { return o.Local == a.Prefix.Addr() })
	})
}
