// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
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

// A login is a connection over which somebody is logged in.
type login struct{ local, remote netip.Addr }

// A connection has both ends alone. One end is not enough: anybody can connect
// to where somebody else's session comes from.
type connection struct{ local, remote netip.AddrPort }

// ways lists the other ends of SSH sessions, and of the tunnels that carry them.
func (s HostContext) ways(ctx context.Context, interfaces []routing.Interface) ([]blocklist.ProtectedAddr, error) {
	if s.euid != 0 {
		return nil, fmt.Errorf("the sockets of other users are for root to see: %w", fs.ErrPermission)
	}
	sockets, err := lsof.Sockets(ctx, s.runner)
	if err != nil {
		return nil, err
	}
	open, err := s.sessions(ctx, sockets)
	var list []blocklist.ProtectedAddr
	for _, o := range open {
		list = append(list, vital(o.remote, "the other end of a live SSH session"))
	}
	carriers, unknown := carriers(interfaces, sockets, open)
	return append(list, carriers...), errors.Join(err, unknown)
}

// sessions lists the SSH sessions: the connections that a server's processes
// hold. Neither the port nor SSH_CONNECTION can tell: launchd hands the socket over, and sudo
// drops the environment.
//
// Who has not logged in yet has no session. Otherwise nobody who tries passwords could be
// blocked, being connected almost all the time.
func (s HostContext) sessions(ctx context.Context, sockets []lsof.Socket) ([]login, error) {
	held := map[connection]map[int]bool{}
	var pids []int
	for _, k := range sockets {
		if k.Protocol != network.TCP || !k.Remote.IsValid() || !sshserver.Is(k.Command) {
			continue
		}
		c := connection{k.Local, k.Remote}
		if held[c] == nil {
			held[c] = map[int]bool{}
		}
		held[c][k.PID] = true
		pids = append(pids, k.PID)
	}
	if len(pids) == 0 {
		return nil, nil
	}
	slices.Sort(pids)
	holders, err := s.holders(ctx, slices.Compact(pids))
	var list []login
	for c, of := range held {
		if isSession(of, holders) {
			list = append(list, login{c.local.Addr(), c.remote.Addr()})
		}
	}
	slices.SortFunc(list, func(a, b login) int { return cmp.Or(a.remote.Compare(b.remote), a.local.Compare(b.local)) })
	return slices.Compact(list), err
}

// A holder is a process of an SSH server that has a connection open.
type holder struct {
	name  string
	title string // its command line, which sshd rewrites
	uid   int
}

// holders describes processes. One that is not told about is taken for root's
// and logged in; one that has ended meanwhile holds nothing, and that is the same.
func (s HostContext) holders(ctx context.Context, pids []int) (map[int]holder, error) {
	rows, err := ps.Lookup(ctx, s.runner, pids...)
	if err != nil {
		return nil, err
	}
	lines, err := ps.CommandLines(ctx, s.runner, pids...)
	titles := map[int]string{}
	for _, l := range lines {
		titles[l.PID] = l.Text
	}
	known := map[int]holder{}
	for _, p := range rows {
		known[p.PID] = holder{name: p.Name(), title: cmp.Or(titles[p.PID], p.Comm), uid: p.UID}
	}
	return known, err
}

// isSession says whether the connection that the processes share is logged in.
// Any process can take the name of a server, so that one of them must be root's. What does
// not show that it is still waiting for a login counts as a session.
func isSession(of map[int]bool, holders map[int]holder) bool {
	root := false
	for pid := range of {
		h := holders[pid] // the zero holder is root's and waits for nobody
		if h.waiting() {
			return false
		}
		root = root || h.uid == 0
	}
	return root
}

// waiting says that the client of the process has not logged in yet.
func (h holder) waiting() bool { return sshserver.AwaitsLogin(h.name, strings.Fields(h.title)) }

// carriers lists the other ends of the tunnels of programs: with whom the known
// ones talk. Where a session comes through a tunnel whose other end is not known, any address
// might be it, which is an error: the extensions that make the tunnels of most VPN
// programs show no other end.
func carriers(interfaces []routing.Interface, sockets []lsof.Socket, open []login) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	for _, k := range sockets {
		if vpn.IsDaemon(k.Command) && k.Remote.IsValid() && !k.Remote.Addr().IsLoopback() {
			list = append(list, vital(k.Remote.Addr(), "whom "+sanitize.Text(k.Command, 32)+" has its tunnel with"))
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
func carries(i routing.Interface, open []login) bool {
	return slices.ContainsFunc(i.Addresses, func(a routing.Address) bool {
		return slices.ContainsFunc(open, func(o login) bool { return o.local.Unmap().WithZone("") == a.Prefix.Addr() })
	})
}
