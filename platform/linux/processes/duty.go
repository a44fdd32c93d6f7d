// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/resolvconf"
	"sentinel/platform/linux/sockdiag"
)

const (
	stateEstablished = 1 // include/net/tcp_states.h
	stateListen      = 10
	portBGP          = 179
)

var (
	// portsOfRouting are those of OLSR, RIP, RIPng and Babel, of UDP (IANA's registry of ports).
	portsOfRouting = []uint16{698, 520, 521, 6696}
	// protocolsOfRouting are EIGRP, OSPF and VRRP (IANA's registry of protocols).
	protocolsOfRouting = []uint16{88, 89, 112}
)

// unread is why it is not known what a process has. An account can have more open than is read, and must not become
// impossible to end by that.
func unread(uid int, why error) error {
	if errors.Is(why, procfs.ErrManyFiles) || uid != 0 && errors.Is(why, procfs.ErrFilesTime) { // the machine's root has no number of files
		return nil
	}
	return why
}

// mayRoute says that a process may change routes and addresses. Any service connects to a port of BGP and opens
// one of Babel; daemons of routing that give the right up are protected by their programs and accounts.
func (t *Terminator) mayRoute(pid, uid int) bool {
	return !t.proc.Lends(pid) && (uid == 0 || t.proc.Effective(pid, unix.CAP_NET_ADMIN))
}

// A dutySearch collects the sockets that tell of a duty, by their inodes.
type dutySearch struct {
	asked func() []netip.Addr
	found map[uint64]processes.Duty
}

// A dutyTable is what was found last: many processes of one service are looked at in a row.
type dutyTable struct {
	mu    sync.Mutex
	at    time.Time
	found map[uint64]processes.Duty
}

// dutySockets lists them; they may be a second old.
func (t *Terminator) dutySockets(ctx context.Context) (found map[uint64]processes.Duty, err error) {
	d := &t.duties
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found != nil && time.Since(d.at) < recent {
		return d.found, nil
	}
	at := time.Now()
	if found, err = t.findDuties(ctx); err == nil {
		d.at, d.found = at, found
	}
	return found, err
}

// findDuties looks at the sockets of the network namespace of this run. Where /proc has no network, those of protocols
// without ports are not known, and names have to do.
func (t *Terminator) findDuties(ctx context.Context) (map[uint64]processes.Duty, error) {
	s := dutySearch{sync.OnceValue(t.askedHere), map[uint64]processes.Duty{}}
	errs := []error{sockdiag.Dump(ctx, unix.IPPROTO_TCP, s.tcp), sockdiag.Dump(ctx, unix.IPPROTO_UDP, s.udp)}
	for _, table := range []string{"raw", "raw6"} {
		if err := t.proc.Sockets(table, s.raw); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return s.found, errors.Join(errs...)
}

func (s *dutySearch) tcp(t sockdiag.Socket) {
	s.add(t.UID, t.Inode, processes.Duty{
		NameServer: t.State == stateListen && s.answers(t.Local),
		Routing:    (t.State == stateListen || t.State == stateEstablished) && (t.Local.Port() == portBGP || t.Remote.Port() == portBGP),
	})
}

func (s *dutySearch) udp(u sockdiag.Socket) {
	s.add(u.UID, u.Inode, processes.Duty{NameServer: s.answers(u.Local), Routing: slices.Contains(portsOfRouting, u.Local.Port())})
}

func (s *dutySearch) raw(r procfs.Socket) {
	s.add(r.UID, r.Inode, processes.Duty{Routing: slices.Contains(protocolsOfRouting, r.Local.Port())})
}

func (s *dutySearch) add(uid int, inode uint64, d processes.Duty) {
	if inode != 0 && procfs.SystemAccount(uid) && (d.NameServer || d.Routing) {
		s.found[inode] = d
	}
}

// answers says whether a socket at that place gets what this machine asks. The unspecified address of IPv6 takes
// IPv4 as well, unless the socket says otherwise, which is not told.
func (s *dutySearch) answers(at netip.AddrPort) bool {
	return slices.Contains(resolvconf.Ports, at.Port()) && slices.ContainsFunc(s.asked(), func(a netip.Addr) bool { return takes(at.Addr(), a) })
}

// takes says whether a socket at one address gets questions that are asked at another.
func takes(bound, asked netip.Addr) bool {
	bound = bound.Unmap().WithZone("")
	return asked == bound || bound.IsUnspecified() && (bound.Is6() || asked.Is4())
}

// askedHere lists the addresses of this machine at which it asks for names. The C library asks at loopback where
// resolv.conf(5) names nobody; where it cannot be read, any of them may be asked.
func (t *Terminator) askedHere() []netip.Addr {
	loopback := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	own, ownErr := interfaces.Addresses()
	servers, err := resolvconf.Here(t.root)
	switch {
	case err != nil:
		return append(plain(own), loopback...)
	case len(servers) == 0:
		return loopback
	}
	return slices.DeleteFunc(plain(servers), func(a netip.Addr) bool {
		return !a.IsLoopback() && ownErr == nil && !slices.Contains(plain(own), a)
	})
}

// plain leaves out zones, and what makes an address of IPv4 one of IPv6.
func plain(list []netip.Addr) []netip.Addr {
	bare := make([]netip.Addr, 0, len(list))
	for _, a := range list {
		bare = append(bare, a.Unmap().WithZone(""))
	}
	return bare
}
