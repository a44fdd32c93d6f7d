// SPDX-License-Identifier: Apache-2.0

// Package network reads the sockets and interfaces of macOS.
//
// netstat(1) lists all sockets for every user, including those that no process holds any more, and
// usually the process that last used each. One run of lsof(8) lists the processes that hold
// sockets, with their full names, but without root only one's own processes. If netstat cannot be
// read, root gets the sockets that lsof lists.
package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/netstat"
)

// A Source reads sockets and interfaces by running programs.
type Source struct {
	runner sysexec.Runner
	root   bool

	mu   sync.Mutex
	rows []netstat.Socket // of the last call of Sockets; an ID is an index plus one
}

var _ network.Source = (*Source)(nil)

// New returns the Source. euid is the effective user of this run.
func New(runner sysexec.Runner, euid int) *Source { return &Source{runner: runner, root: euid == 0} }

// Sockets implements [network.Source]. Sockets that are not bound to a port are left out: nothing
// can reach them.
func (s *Source) Sockets(ctx context.Context, visit func(network.Socket)) error {
	rows, err := s.all(ctx)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r netstat.Socket) bool { return r.Local.Port() == 0 })
	s.mu.Lock()
	s.rows = rows
	s.mu.Unlock()
	own := ownAddresses(rows)
	for i, r := range rows {
		remote := remoteEnd(r)
		visit(network.Socket{Protocol: r.Protocol, State: r.State, Local: r.Local, Remote: remote, ID: id(i, r), Internal: own[remote.Addr()] || remote.Addr().IsLoopback()})
	}
	return nil
}

// ownAddresses are those that sockets have here: macOS binds none to an address of another machine unless
// root asks for it (IP_BINDANY).
func ownAddresses(rows []netstat.Socket) map[netip.Addr]bool {
	own := map[netip.Addr]bool{}
	for _, r := range rows {
		if a := r.Local.Addr(); !a.IsUnspecified() {
			own[a] = true
		}
	}
	return own
}

// remoteEnd returns the remote end. Without one it returns what Linux shows: any host of the same
// family.
func remoteEnd(r netstat.Socket) netip.AddrPort {
	if r.Remote.IsValid() {
		return r.Remote
	}
	if r.Local.Addr().Is4() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
}

// id is 0 for a socket that its process has closed.
func id(index int, r netstat.Socket) uint64 {
	if r.State == network.TimeWait {
		return 0
	}
	return uint64(index) + 1
}

func (s *Source) all(ctx context.Context) ([]netstat.Socket, error) {
	var rows []netstat.Socket
	for _, protocol := range []network.Protocol{network.TCP, network.UDP} {
		list, err := netstat.Sockets(ctx, s.runner, protocol)
		if err != nil {
			return s.lsofSockets(ctx, err)
		}
		rows = append(rows, list...)
	}
	if len(rows) == 0 {
		return s.lsofSockets(ctx, errNone)
	}
	return rows, nil
}

// errNone reports that the output of netstat is implausible: on every Mac at least mDNSResponder
// has sockets.
var errNone = errors.New("netstat lists no socket at all")

// errOwnOnly reports that lsof without root does not list all sockets.
var errOwnOnly = errors.New("only root sees the sockets of other users' processes")

// held returns the sockets that lsof lists, each once. Without root it fails, since the sockets of
// other users would be missing from every count.
func (s *Source) lsofSockets(ctx context.Context, cause error) ([]netstat.Socket, error) {
	if !s.root {
		return nil, fmt.Errorf("%w, and %w", cause, errOwnOnly)
	}
	list, err := lsof.Sockets(ctx, s.runner)
	if err != nil {
		return nil, fmt.Errorf("%w, and %w", cause, err)
	}
	var rows []netstat.Socket
	for _, h := range list {
		rows = append(rows, netstat.Socket{Protocol: h.Protocol, State: h.State, Local: h.Local, Remote: h.Remote, PID: h.PID, Command: h.Command})
	}
	return rows, nil
}

// Owners implements [network.Source]; sockets are those of the last call of Sockets. denied is always
// false: netstat reports the processes of other users even without root.
func (s *Source) Owners(ctx context.Context, sockets []network.Socket) (map[uint64]network.Owner, bool, error) {
	owners := make(map[uint64]network.Owner, len(sockets))
	if len(sockets) == 0 {
		return owners, false, nil
	}
	holders, err := s.holders(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range sockets {
		id := k.ID
		if id == 0 || id > uint64(len(s.rows)) {
			continue
		}
		if o, ok := s.owner(s.rows[id-1], holders); ok {
			owners[id] = o
		} else if err == nil && !s.root {
			err = errOwnOnly
		}
	}
	return owners, false, err
}

// endpoints identify a socket by the addresses that both netstat and lsof report. It has no zones,
// which lsof does not print.
type endpoints struct {
	protocol      network.Protocol
	local, remote netip.AddrPort
}

func endpointsOf(protocol network.Protocol, local, remote netip.AddrPort) endpoints {
	return endpoints{protocol, zoneless(local), zoneless(remote)}
}

func zoneless(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().WithZone(""), a.Port())
}

func (s *Source) holders(ctx context.Context) (map[endpoints][]network.Owner, error) {
	list, err := lsof.Sockets(ctx, s.runner)
	holders := make(map[endpoints][]network.Owner, len(list))
	for _, h := range list {
		key := endpointsOf(h.Protocol, h.Local, h.Remote)
		holders[key] = append(holders[key], network.Owner{PID: h.PID, Name: h.Command})
	}
	return holders, err
}

// owner finds the process of a socket. Several sockets may have the same ends: then the process
// that netstat names decides, and if it names none each holder is used once. As root all holders
// are known, so a process that only passed a socket on does not count as its owner.
func (s *Source) owner(r netstat.Socket, holders map[endpoints][]network.Owner) (network.Owner, bool) {
	key := endpointsOf(r.Protocol, r.Local, r.Remote)
	list := holders[key]
	if i := slices.IndexFunc(list, func(o network.Owner) bool { return o.PID == r.PID }); i >= 0 {
		return list[i], true
	}
	if len(list) > 0 && (s.root || r.PID == 0) {
		if len(list) > 1 {
			holders[key] = list[1:]
		}
		return list[0], true
	}
	return network.Owner{PID: r.PID, Name: r.Command}, r.PID > 0
}

// Interfaces implements [network.Source].
func (s *Source) Interfaces(ctx context.Context) ([]network.Interface, error) {
	rows, err := netstat.Interfaces(ctx, s.runner)
	if err != nil {
		return nil, err
	}
	list := make([]network.Interface, len(rows))
	for n, r := range rows {
		list[n] = network.Interface{
			Name: r.Name, Loopback: loopback(r.Name),
			BytesIn: r.BytesIn, PacketsIn: r.PacketsIn, ErrorsIn: r.ErrorsIn, NoDropsIn: true,
			BytesOut: r.BytesOut, PacketsOut: r.PacketsOut, ErrorsOut: r.ErrorsOut, NoDropsOut: r.DropsOut == nil,
		}
		if r.DropsOut != nil {
			list[n].DropsOut = *r.DropsOut
		}
	}
	return list, nil
}

// loopback recognizes the interface by its name, lo and a number: only the kernel names interfaces.
func loopback(name string) bool {
	number, ok := strings.CutPrefix(name, "lo")
	return ok && strings.Trim(number, "0123456789") == ""
}
