// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package sessions reads on Linux what tells what carries the sessions of people: processes with
// their terminals, sockets, and the records of logins.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sentinel/internal/privilege"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
	"sentinel/platform/linux/tunnels"
)

// A Reader reads below a root directory. Sockets and addresses are always those of the caller's
// network namespace, and of those that the processes live in which it comes from.
type Reader struct {
	root  string
	self  int
	proc  procfs.FS
	names func() (accounts.Names, error)
}

// New returns the Reader for root; "/" is the live system.
func New(root string) *Reader {
	return &Reader{
		root: root, self: os.Getpid(), proc: procfs.New(root),
		names: sync.OnceValues(func() (accounts.Names, error) { return accounts.Read(root) }),
	}
}

// Model reads the machine once and answers what carries its sessions.
func (r *Reader) Model(ctx context.Context) (*sessions.Model, error) {
	files, err := r.proc.FileReader()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	pass := r.reading(files)
	defer pass.leave()
	return sessions.Find(ctx, pass)
}

func (r *Reader) reading(files *procfs.FileReader) *reading {
	return &reading{
		Reader: r, files: files, own: map[netip.Addr]bool{}, spaces: map[string]sessions.Container{},
		addresses: map[string][]netip.Addr{},
		tunnels:   tunnels.New(r.root), carried: map[sessions.Connection][]sessions.Tunnel{}, flows: conntrack.Read,
	}
}

// A reading is one pass over the machine, within one budget.
type reading struct {
	*Reader
	files   *procfs.FileReader
	sockets []sessions.Socket
	own     map[netip.Addr]bool
	wanted  map[uint64]bool // sockets whose holders were looked for
	holders map[uint64][]procfs.Holder
	skipped []procfs.Skipped
	nested  bool
	space   string // the network namespace of this run
	pids    string // the PID namespace of process 1
	tunnels *tunnels.Reader
	carried map[sessions.Connection][]sessions.Tunnel // what is known of the tunnels
	flows   func(ctx context.Context, ports []uint16) (conntrack.Table, error)
	talks   func() (conntrack.Table, error) // nil until somebody asks

	paths map[sessions.SocketID][]sessions.SocketID // of connections with several: the others, by the first

	spaces    map[string]sessions.Container // network namespaces that were read, by name, without their sockets
	entered   []*os.File                    // those of containers
	addresses map[string][]netip.Addr       // of network namespaces that were only looked at, by name
	pidsSeen  []int
	lives     map[string][]int // nil until somebody asks
	numbers   map[int]string   // nil until somebody asks

	unix     sockdiag.UnixTable
	unixErr  error
	unixRead bool // false until somebody asks
}

var _ sessions.Source = (*reading)(nil)

// Read implements [sessions.Source].
func (r *reading) Read(ctx context.Context) (sessions.Snapshot, error) {
	table, stuck, err := r.begin(ctx)
	if err != nil {
		return sessions.Snapshot{}, err
	}
	s := sessions.Snapshot{Self: r.self, Masters: true, Nested: r.nested}
	for _, p := range table {
		name, pseudo := Terminal(p.Terminal)
		s.Processes = append(s.Processes, sessions.Process{
			PID: p.PID, Parent: p.ParentPID, Leader: p.Session, Name: p.Name, Terminal: name, Pseudo: pseudo,
		})
	}
	if s.Sockets, err = sockets(ctx); err != nil {
		return s, err
	}
	if s.Addresses, err = interfaces.Addresses(); err != nil {
		return s, err
	}
	s.Logins, s.Unread = r.logins()
	s.Unread = append(s.Unread, r.unread(stuck)...)
	r.elsewhere(ctx, table, &s)
	r.keep(s.Sockets)
	for _, a := range slices.Concat(append(slices.Collect(maps.Values(s.Elsewhere)), s.Addresses)...) {
		r.own[a.Unmap().WithZone("")] = true
	}
	s.Users = r.users()
	s.Hint = hint(os.Getenv("SSH_CONNECTION"))
	return s, nil
}

// begin reads which processes there are, and where this run is.
func (r *reading) begin(ctx context.Context) (table []procfs.Process, stuck []int, err error) {
	if table, stuck, err = r.proc.Processes(ctx); err != nil {
		return nil, nil, err
	}
	for _, p := range table {
		r.pidsSeen = append(r.pidsSeen, p.PID)
	}
	r.space, _ = os.Readlink(filepath.Join(r.root, "proc/thread-self/ns/net")) //nolint:errcheck // then it is not known
	r.pids = r.namespace(1, "pid")
	r.nested = r.pids != "" && r.pids != firstPIDs // processes around this run are not seen
	return table, stuck, nil
}

// unread says which processes could not be read in time: those of the system, since users choose it for theirs.
func (r *reading) unread(stuck []int) (list []string) {
	for _, pid := range stuck {
		if procfs.SystemAccount(r.proc.Owner(pid)) {
			list = append(list, fmt.Sprintf("what process %d carries is not known (%v)", pid, procfs.ErrStuck))
		}
	}
	return list
}

// users lists the accounts that have called this run: whoever runs sudo or run0 is named by them, and
// whoever logged in by the kernel, also where that is long ago.
func (r *reading) users() (list []sessions.User) {
	names, _ := r.names() //nolint:errcheck // a user without a name is shown as a number
	add := func(uid int) {
		list = append(list, sessions.User{UID: uid, Name: names.Name(uid), System: procfs.SystemAccount(uid)})
	}
	if uid, _, ok := privilege.SudoUser(os.Getenv); ok {
		add(uid)
	}
	if uid, ok, err := r.proc.LoginUID(r.self); ok && err == nil {
		add(uid)
	}
	return list
}

// hint parses SSH_CONNECTION: the client's address and port, and the server's (ssh(1)).
func hint(text string) []netip.Addr {
	client, _, _ := strings.Cut(text, " ")
	a, err := netip.ParseAddr(client)
	if err != nil {
		return nil
	}
	return []netip.Addr{a}
}

// sockets lists the TCP and UDP sockets that a process may hold.
func sockets(ctx context.Context) (list []sessions.Socket, err error) {
	met := map[uint64][]ends{}
	for name, protocol := range map[string]uint8{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP} {
		err := sockdiag.Dump(ctx, protocol, func(d sockdiag.Socket) {
			n := len(met[d.Inode])
			if d.Inode == 0 || slices.Contains(met[d.Inode], endsOf(d)) {
				return
			}
			met[d.Inode] = append(met[d.Inode], endsOf(d))
			list = append(list, sessions.Socket{
				ID: pathID(d.Inode, n), Protocol: name, Local: d.Local, Remote: d.Remote, UID: d.UID,
				Listening: name == "tcp" && d.State == stateListen, Established: name == "tcp" && agreed(d.State),
				PathOf: firstPath(d.Inode, n),
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// States of include/net/tcp_states.h.
const (
	stateEstablished = 1
	stateFinWait1    = 4
	stateFinWait2    = 5
	stateCloseWait   = 8
	stateListen      = 10
)

// agreed reports whether the other end has answered: a connection that only one side has asked for,
// or that is over, carries nothing.
func agreed(state uint8) bool {
	switch state {
	case stateEstablished, stateFinWait1, stateFinWait2, stateCloseWait:
		return true
	}
	return false
}

// Terminal names a terminal by its device number (Documentation/admin-guide/devices.txt), and tells
// whether another process is behind it. A number may stand for several: every mount of devpts counts
// anew.
func Terminal(device uint32) (name string, pseudo bool) {
	if device == 0 {
		return "", false
	}
	major, minor := device>>8&0xfff, device&0xff|device>>12&0xfff00
	switch {
	case major >= 136 && major <= 143:
		return "pts/" + strconv.FormatUint(uint64((major-136)<<8|minor), 10), true
	case major == 4 && minor < 64:
		return fmt.Sprintf("tty%d", minor), false
	case major == 4:
		return fmt.Sprintf("ttyS%d", minor-64), false
	case major == 5 && minor == 1:
		return "console", false
	default:
		return fmt.Sprintf("terminal %d:%d", major, minor), false
	}
}

// Peers implements [sessions.Source]. The first question is answered for all UDP sockets that are not connected:
// anybody on the network makes the table of flows long, and users as many sessions over UDP as they like.
func (r *reading) Peers(ctx context.Context, ports []uint16) ([]sessions.Peer, error) {
	if r.talks == nil {
		r.talks = sync.OnceValues(func() (conntrack.Table, error) { return r.flows(ctx, r.openUDP()) })
	}
	table, err := r.talks()
	if err != nil {
		return nil, err
	}
	tracked, err := table.Peers(ports)
	list := make([]sessions.Peer, len(tracked))
	for i, p := range tracked {
		list[i] = sessions.Peer{Port: p.Port, Address: p.Address, Came: p.Came}
	}
	return list, err
}

// openUDP lists the ports of UDP sockets that are not connected.
func (r *reading) openUDP() (ports []uint16) {
	for _, k := range r.sockets {
		if k.Protocol == "udp" && k.Remote.Port() == 0 {
			ports = append(ports, k.Local.Port())
		}
	}
	return ports
}

// Tunnels implements [sessions.Source]. Many connections may have the same ends.
func (r *reading) Tunnels(ctx context.Context, c sessions.Connection) ([]sessions.Tunnel, error) {
	if known, ok := r.carried[c]; ok {
		return known, nil
	}
	list, err := r.tunnels.Carry(ctx, c)
	if err == nil {
		r.carried[c] = list
	}
	return list, err
}

// OnWire implements [sessions.Source]. Who may not ask may not block an address either, so that is no error.
func (r *reading) OnWire(_ context.Context, k sessions.Socket) (netip.Addr, error) {
	protocol := uint8(unix.IPPROTO_TCP)
	if k.Protocol == "udp" {
		protocol = unix.IPPROTO_UDP
	}
	a, err := conntrack.OnWire(protocol, k.Local, k.Remote)
	if errors.Is(err, fs.ErrPermission) {
		return netip.Addr{}, nil
	}
	return a, err
}

// Traffic implements [sessions.Source].
func (r *reading) Traffic(ctx context.Context) (map[sessions.SocketID]sessions.Traffic, error) {
	all, known := map[sessions.SocketID]sessions.Traffic{}, r.byPath()
	dump := func() error {
		return sockdiag.DumpTraffic(ctx, func(d sockdiag.Socket) {
			if id, ok := known[path{d.Inode, endsOf(d)}]; ok && d.Traffic != nil {
				all[id] = sessions.Traffic(*d.Traffic)
			}
		})
	}
	err := dump()
	for _, f := range r.entered {
		err = errors.Join(err, within(f, dump))
	}
	return all, err
}
