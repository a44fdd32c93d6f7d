// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sentinel/internal/blocklist"
	"sentinel/internal/network"
	"sentinel/internal/sanitize"
	"sentinel/internal/sshserver"
	"sentinel/internal/vpn"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/ps"
	"sentinel/platform/darwin/routing"
)

// sessionPeers lists the other ends of SSH sessions, and of the tunnels that carry
// them.
func (s HostContext) sessionPeers(ctx context.Context, interfaces []routing.Interface) ([]blocklist.ProtectedAddr, error) {
	if s.euid != 0 {
		return nil, fmt.Errorf("only root sees the sockets of other users: %w", fs.ErrPermission)
	}
	sockets, err := lsof.Sockets(ctx, s.runner)
	if err != nil {
		return nil, err
	}
	held, err := s.sshConnections(ctx, sockets)
	open := blocklist.Sessions(held)
	ends, unknown := tunnelEnds(interfaces, sockets, open)
	return append(blocklist.ProtectSessions(open), ends...), errors.Join(err, unknown)
}

// sshConnections finds the connections that processes of SSH servers hold open.
func (s HostContext) sshConnections(ctx context.Context, sockets []lsof.Socket) (map[blocklist.Connection][]blocklist.SSHProcess, error) {
	serves := func(k lsof.Socket) bool {
		return k.Protocol == network.TCP && k.Remote.IsValid() && sshserver.Is(k.Command)
	}
	var pids []int
	for _, k := range sockets {
		if serves(k) {
			pids = append(pids, k.PID)
		}
	}
	if len(pids) == 0 {
		return nil, nil
	}
	slices.Sort(pids)
	processes, err := s.sshProcesses(ctx, slices.Compact(pids))
	held := map[blocklist.Connection][]blocklist.SSHProcess{}
	for _, k := range sockets {
		if serves(k) {
			c := blocklist.Connection{Local: k.Local, Remote: k.Remote}
			held[c] = append(held[c], processes[k.PID])
		}
	}
	return held, err
}

// sshProcesses describes processes. One that ps does not list is left out and
// counts as logged in; one that has ended meanwhile holds nothing, so it does no harm.
func (s HostContext) sshProcesses(ctx context.Context, pids []int) (map[int]blocklist.SSHProcess, error) {
	rows, err := ps.Lookup(ctx, s.runner, pids...)
	if err != nil {
		return nil, err
	}
	lines, err := ps.CommandLines(ctx, s.runner, pids...)
	commandLines := map[int]string{}
	for _, l := range lines {
		commandLines[l.PID] = l.Text
	}
	known := map[int]blocklist.SSHProcess{}
	for _, p := range rows {
		known[p.PID] = blocklist.SSHProcess{Name: p.Name(), CommandLine: strings.Fields(cmp.Or(commandLines[p.PID], p.Comm)), UID: p.UID}
	}
	return known, err
}

// tunnelEnds lists the other ends of the tunnels of programs: with whom known
// VPN daemons talk. Where a session comes through a tunnel whose other end is not known, any address
// might be it, which is an error: the extensions that make the tunnels of most VPN
// programs show no other end.
func tunnelEnds(interfaces []routing.Interface, sockets []lsof.Socket, open []blocklist.Session) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	for _, k := range sockets {
		if vpn.IsDaemon(k.Command) && k.Remote.IsValid() && !k.Remote.Addr().IsLoopback() {
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

// carries says that a session comes in at an address of the interface.
func carries(i routing.Interface, open []blocklist.Session) bool {
	return slices.ContainsFunc(i.Addresses, func(a routing.Address) bool {
		return slices.ContainsFunc(open, func(o blocklist.Session) bool { return o.Local == a.Prefix.Addr() })
	})
}
