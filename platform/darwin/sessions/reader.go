// SPDX-License-Identifier: Apache-2.0

// Package sessions reads on macOS what tells what carries the sessions of people: SSH servers, and
// the proxies and reverse tunnels before them. Which process serves a terminal is not told by any
// program, so a server of another kind is not found.
package sessions

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/netip"
	"slices"
	"strings"

	"sentinel/internal/network"
	"sentinel/internal/sessions"
	"sentinel/internal/sshserver"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/ps"
	"sentinel/platform/darwin/routing"
)

// firstPerson is where the numbers of people begin.
const firstPerson = 500

// A Reader reads what programs of the runner tell.
type Reader struct {
	runner sysexec.Runner
	euid   int
	pid    int // of this run
}

// New returns the Reader for an effective user: only root sees the sockets of others.
func New(runner sysexec.Runner, euid, pid int) *Reader { return &Reader{runner, euid, pid} }

// Model reads the machine once and answers what carries its sessions.
func (r *Reader) Model(ctx context.Context) (*sessions.Model, error) {
	return sessions.Find(ctx, &reading{Reader: r, open: map[int][]sessions.SocketID{}, rows: map[int]ps.Process{}, lines: map[int]string{}})
}

// A reading is one pass over the machine.
type reading struct {
	*Reader
	open  map[int][]sessions.SocketID
	rows  map[int]ps.Process
	lines map[int]string
}

var _ sessions.Source = (*reading)(nil)

// Read implements [sessions.Source].
func (r *reading) Read(ctx context.Context) (sessions.Snapshot, error) {
	if r.euid != 0 {
		return sessions.Snapshot{}, fmt.Errorf("only root sees the sockets of other users: %w", fs.ErrPermission)
	}
	s := sessions.Snapshot{Self: r.pid}
	sockets, err := lsof.Sockets(ctx, r.runner)
	if err != nil {
		return s, err
	}
	table, err := ps.Table(ctx, r.runner)
	if err != nil {
		return s, err
	}
	names := map[int]string{} // as the kernel has them: ps shows the title that a server gave itself
	for _, k := range sockets {
		names[k.PID] = k.Command
	}
	for _, p := range table {
		r.rows[p.PID] = p
		s.Processes = append(s.Processes, sessions.Process{PID: p.PID, Parent: p.PPID, Name: cmp.Or(names[p.PID], p.Name())})
	}
	s.Sockets = r.take(sockets)
	if err := r.readTitles(ctx, sockets); err != nil {
		s.Unread = append(s.Unread, fmt.Sprintf("who is logged in is not known (%v)", err))
	}
	interfaces, err := routing.Interfaces(ctx, r.runner)
	if err != nil {
		s.Unread = append(s.Unread, fmt.Sprintf("which addresses are this machine's own is not known (%v)", err))
	}
	for _, i := range interfaces {
		for _, a := range i.Addresses {
			s.Addresses = append(s.Addresses, a.Prefix.Addr())
		}
	}
	return s, ctx.Err()
}

// take notes who holds the sockets, each of which is listed once for every holder.
func (r *reading) take(all []lsof.Socket) (list []sessions.Socket) {
	seen := map[sessions.SocketID]bool{}
	for _, k := range all {
		id := identity(k)
		r.open[k.PID] = append(r.open[k.PID], id)
		if seen[id] {
			continue
		}
		seen[id] = true
		tcp := k.Protocol == network.TCP
		list = append(list, sessions.Socket{
			ID: id, Protocol: strings.ToLower(string(k.Protocol)), Local: k.Local, Remote: k.Remote, UID: -1,
			Listening: tcp && k.State == network.Listen, Established: tcp && k.Remote.IsValid() && agreed(k.State),
		})
	}
	return list
}

// agreed reports whether the other end of a connection has answered. A state that was not printed
// counts.
func agreed(s network.State) bool { return s != "SYN_SENT" && s != "SYN_RECV" && s != "SYN_RCVD" }

// identity tells a socket by its address in the kernel, or by what it connects where that is not
// printed.
func identity(k lsof.Socket) sessions.SocketID {
	h := fnv.New64a()
	fmt.Fprint(h, k.Device()) //nolint:errcheck // never fails
	if k.Device() == "" {
		fmt.Fprint(h, k.Protocol, k.Local, k.Remote) //nolint:errcheck // never fails
	}
	return sessions.SocketID(h.Sum64())
}

// readTitles reads the command lines of SSH servers that hold connections.
func (r *reading) readTitles(ctx context.Context, sockets []lsof.Socket) error {
	var pids []int
	for _, k := range sockets {
		if k.Protocol == network.TCP && k.Remote.IsValid() && sshserver.Is(k.Command) {
			pids = append(pids, k.PID)
		}
	}
	if len(pids) == 0 {
		return nil
	}
	slices.Sort(pids)
	lines, err := ps.CommandLines(ctx, r.runner, slices.Compact(pids)...)
	for _, l := range lines {
		r.lines[l.PID] = l.Text
	}
	return err
}

// Open implements [sessions.Source].
func (r *reading) Open(_ context.Context, pid int) (sessions.Files, error) {
	return sessions.Files{Sockets: r.open[pid]}, nil
}

// Holders implements [sessions.Source].
func (r *reading) Holders(_ context.Context, list []sessions.Socket) (map[sessions.SocketID][]int, error) {
	found := map[sessions.SocketID][]int{}
	for pid, open := range r.open {
		for _, k := range list {
			if slices.Contains(open, k.ID) {
				found[k.ID] = append(found[k.ID], pid)
			}
		}
	}
	for _, pids := range found {
		slices.Sort(pids)
	}
	return found, nil
}

// Describe implements [sessions.Source]. What ps does not list has ended: it is asked after what lists the sockets.
func (r *reading) Describe(_ context.Context, pid int) (sessions.Description, error) {
	p, ok := r.rows[pid]
	if !ok {
		return sessions.Description{Ended: true}, nil
	}
	line := r.lines[pid]
	if line == "" {
		line = p.Comm
	}
	return sessions.Description{UID: p.UID, System: p.UID < firstPerson, User: p.User, CommandLine: strings.Fields(line)}, nil
}

// Peers implements [sessions.Source]. macOS does not tell with whom a socket that is not connected
// exchanges packets.
func (*reading) Peers(context.Context, []uint16) ([]sessions.Peer, error) { return nil, nil }

// Traffic implements [sessions.Source]: no program tells it of a connection for certain.
func (*reading) Traffic(context.Context) (map[sessions.SocketID]sessions.Traffic, error) {
	return nil, nil
}

// Tunnels implements [sessions.Source]. What carries those of macOS is told by few programs, which
// the blocklist asks.
func (*reading) Tunnels(context.Context, sessions.Connection) ([]sessions.Tunnel, error) {
	return nil, nil
}

// Unix implements [sessions.Source]. Who is connected over them is not looked at: nor is which process serves a
// terminal.
func (*reading) Unix(context.Context, []sessions.SocketID) ([]sessions.Socket, error) {
	return nil, nil
}

// Serving implements [sessions.Source]. No program of macOS tells.
func (*reading) Serving(context.Context) (map[string][]int, error) { return nil, nil }

// OnWire implements [sessions.Source]. What pf translates is not read.
func (*reading) OnWire(context.Context, sessions.Socket) (netip.Addr, error) {
	return netip.Addr{}, nil
}

// Container implements [sessions.Source]: macOS has no network namespaces.
func (*reading) Container(context.Context, netip.Addr) (sessions.Container, bool, error) {
	return sessions.Container{}, false, nil
}
