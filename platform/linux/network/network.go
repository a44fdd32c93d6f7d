// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package network reads the sockets and interfaces of Linux: from sock_diag, or from /proc/net
// where sock_diag is not allowed.
package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/network"
	links "sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
	"sentinel/platform/unix/hostfile"
)

// A Source reads sockets of the caller's network namespace and processes below
// a root directory.
type Source struct {
	root string
	proc procfs.FS
	// dump is sockdiag.Dump on the live system. It is nil for any other root, whose /proc/net is
	// read instead.
	dump func(ctx context.Context, protocol uint8, visit func(sockdiag.Socket)) error
	// vsock is sockdiag.DumpVSock on the live system, nil for any other root.
	vsock func(ctx context.Context, visit func(sockdiag.VSock)) error
	// addresses are those of the network namespace, nil for any other root than the live system.
	addresses func() ([]netip.Addr, error)
}

var _ network.Source = (*Source)(nil)

// New returns the Source for root; "/" is the live system.
func New(root string) *Source {
	s := &Source{root: root, proc: procfs.New(root)}
	if root == "/" {
		s.dump, s.vsock, s.addresses = sockdiag.Dump, sockdiag.DumpVSock, links.Addresses
	}
	return s
}

type transport struct {
	protocol network.Protocol
	number   uint8
	tables   []string // below /proc/net
}

var transports = []transport{
	{network.TCP, unix.IPPROTO_TCP, []string{"tcp", "tcp6"}},
	{network.UDP, unix.IPPROTO_UDP, []string{"udp", "udp6"}},
	{network.UDPLite, unix.IPPROTO_UDPLITE, []string{"udplite", "udplite6"}},
}

// Sockets implements [network.Source].
func (s *Source) Sockets(ctx context.Context, visit func(network.Socket)) error {
	names, own, routed := interfaces{}, s.own(), s.routesLoopback()
	marked := func(k network.Socket) {
		other := k.Remote.Addr()
		k.Internal = k.State != network.Listen && (other.IsLoopback() || own[other.WithZone("")])
		k.Routed = routed && k.Local.Addr().Is4() && k.Local.Addr().IsLoopback()
		visit(k)
	}
	for _, t := range transports {
		if err := s.sockets(ctx, t, names, marked); err != nil {
			return err
		}
	}
	return nil
}

// loopbackIndex is that of lo in every network namespace (LOOPBACK_IFINDEX in include/net/flow.h).
const loopbackIndex = 1

// routesLoopback reports whether an interface takes packets of other hosts to 127.0.0.0/8
// (Documentation/networking/ip-sysctl.rst, route_localnet).
func (s *Source) routesLoopback() bool {
	conf := filepath.Join(s.root, "proc", "sys", "net", "ipv4", "conf")
	names, _ := os.ReadDir(conf) //nolint:errcheck // a system that does not tell has the default
	return slices.ContainsFunc(names, func(e os.DirEntry) bool {
		if e.Name() == "lo" || e.Name() == "default" {
			return false
		}
		value, err := hostfile.Text(filepath.Join(conf, e.Name(), "route_localnet"))
		return err == nil && value != "0"
	})
}

// own are the addresses of this machine, as the interfaces have them: a socket can be bound to others (ip(7),
// IP_FREEBIND). Where they cannot be listed, only what is on loopback is known to stay here.
func (s *Source) own() map[netip.Addr]bool {
	own := map[netip.Addr]bool{}
	if s.addresses == nil {
		return own
	}
	list, _ := s.addresses() //nolint:errcheck // a connection that is not known to stay here counts as others do
	for _, a := range list {
		own[a.WithZone("")] = true
	}
	return own
}

// sockets falls back to /proc/net only if sock_diag delivered nothing: part of a list from each
// would count sockets twice.
func (s *Source) sockets(ctx context.Context, t transport, names interfaces, visit func(network.Socket)) error {
	if s.dump != nil {
		seen := false
		err := s.dump(ctx, t.number, func(d sockdiag.Socket) {
			seen = true
			k := s.socket(t.protocol, names, procfs.Socket{Local: d.Local, Remote: d.Remote, State: d.State, Inode: d.Inode, UID: d.UID})
			k.OnlyIPv6, k.Inside = d.OnlyIPv6, d.Device == loopbackIndex
			visit(k)
		})
		if err == nil || seen || ctx.Err() != nil {
			return err
		}
	}
	for _, table := range t.tables {
		if err := s.proc.Sockets(table, func(p procfs.Socket) {
			visit(s.socket(t.protocol, names, p))
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) socket(protocol network.Protocol, names interfaces, p procfs.Socket) network.Socket {
	user := s.proc.UserOf(p.UID)
	return network.Socket{
		Protocol: protocol, State: stateOf(protocol, p.State), ID: p.Inode, UID: user, System: procfs.SystemAccount(user),
		Local: names.unmapped(p.Local), Remote: names.unmapped(p.Remote),
	}
}

// interfaces are the names of interfaces by index, of which each is asked for once: the kernel lists all for one.
type interfaces map[string]string

func (names interfaces) name(zone string) string {
	known, asked := names[zone]
	if asked {
		return known
	}
	names[zone] = zone
	if index, err := strconv.Atoi(zone); err == nil {
		if i, err := net.InterfaceByIndex(index); err == nil {
			names[zone] = i.Name
		}
	}
	return names[zone]
}

// unmapped turns IPv4-mapped addresses into IPv4, and a zone, which is an index here, into the name
// of its interface.
func (names interfaces) unmapped(a netip.AddrPort) netip.AddrPort {
	ip := a.Addr().Unmap()
	if ip.Zone() != "" {
		ip = ip.WithZone(names.name(ip.Zone()))
	}
	return netip.AddrPortFrom(ip, a.Port())
}

// states are the TCP states of include/net/tcp_states.h from 1 on. 12 is a
// half-open connection, which the kernel keeps apart from SYN_RECV.
var states = [...]network.State{
	1: network.Established, 2: network.SynSent, 3: network.SynReceived, 4: network.FinWait1,
	5: network.FinWait2, 6: network.TimeWait, 7: network.Closed, 8: network.CloseWait,
	9: network.LastAck, 10: network.Listen, 11: network.Closing, 12: network.SynReceived,
}

// stateOf translates a kernel state. An unconnected socket of UDP or UDP-Lite is in state CLOSE.
func stateOf(protocol network.Protocol, state uint8) network.State {
	if int(state) >= len(states) || state == 0 {
		return network.Closed
	}
	if protocol != network.TCP && state == 7 {
		return network.Listen
	}
	return states[state]
}

// Owners implements [network.Source].
func (s *Source) Owners(ctx context.Context, sockets []network.Socket) (map[uint64]network.Owner, bool, error) {
	makers := make(map[uint64]int, len(sockets))
	for _, k := range sockets {
		if k.ID != 0 {
			makers[k.ID] = k.UID
		}
	}
	found, err := s.proc.SocketOwners(ctx, makers)
	owners := make(map[uint64]network.Owner, len(found.ByInode))
	for inode, h := range found.ByInode {
		owners[inode] = network.Owner{PID: h.PID, Name: h.Name}
	}
	if err != nil {
		return owners, found.Denied, err
	}
	return owners, found.Denied, skipped(found.Skipped)
}

func skipped(list []procfs.Skipped) error {
	uids, system := make([]int, 0, len(list)), map[int]bool{}
	for _, p := range list {
		uids = append(uids, p.UID)
		if procfs.SystemAccount(p.UID) && !errors.Is(p.Err, procfs.ErrManyFiles) { // a bound of their own is never that of root
			system[p.UID] = true
		}
	}
	return network.Skipped(uids, func(uid int) bool { return system[uid] })
}

// Interfaces implements [network.Source].
func (s *Source) Interfaces(context.Context) ([]network.Interface, error) {
	rows, err := s.proc.Interfaces()
	if err != nil {
		return nil, err
	}
	list := make([]network.Interface, len(rows))
	for n, r := range rows {
		list[n] = network.Interface{
			Name: r.Name, Loopback: s.loopback(r.Name),
			BytesIn: r.BytesIn, PacketsIn: r.PacketsIn, ErrorsIn: r.ErrorsIn, DropsIn: r.DropsIn,
			BytesOut: r.BytesOut, PacketsOut: r.PacketsOut, ErrorsOut: r.ErrorsOut, DropsOut: r.DropsOut,
		}
	}
	return list, nil
}

// loopback reads the hardware type: ARPHRD_LOOPBACK is 772 (include/uapi/linux/if_arp.h). /sys
// shows the network namespace in which it was mounted, so the name decides if it lacks the
// interface.
func (s *Source) loopback(name string) bool {
	raw, err := os.ReadFile(filepath.Join(s.root, "sys", "class", "net", filepath.Base(name), "type"))
	if err != nil {
		return name == "lo"
	}
	return strings.TrimSpace(string(raw)) == "772"
}

// Of returns the sockets of the network namespace of a process.
func (s *Source) Of(pid int) *Source { return &Source{root: s.root, proc: s.proc.Of(pid)} }
