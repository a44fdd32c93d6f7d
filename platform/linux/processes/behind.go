// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"sentinel/internal/processes"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/resolvconf"
	linuxsessions "sentinel/platform/linux/sessions"
	"sentinel/platform/linux/tunnels"
)

// containers are those that the network of this machine depends on.
type containers struct {
	names    []nameServer
	gateways []linuxsessions.Found
	tunnels  map[int]bool  // processes of gateways that hold the device of a tunnel
	unread   map[int]error // why that is not known of some
	err      error         // why that is not known of any
}

// A neighbourhood is what was found last, for the many processes that are looked at in a row.
type neighbourhood struct {
	mu   sync.Mutex
	at   time.Time
	last containers
}

// A nameServer is a container that answers this machine's questions for names.
type nameServer struct {
	linuxsessions.Found
	answers map[uint64]bool // its sockets that do, by inode
}

// behind adds to the duty of a process in a container what it does there for this machine; ends tells which processes
// end together with it. Whoever connects a network namespace with this one is root, so the accounts in it do not count.
// One without a number here has no line to here.
func (t *Terminator) behind(ctx context.Context, pid int, ends func() (map[int]bool, error), f *processes.Facts) {
	if !t.numbered(pid) {
		return
	}
	near := t.dependedOn(ctx)
	err := near.err
	d := &f.Duty
	for _, c := range near.gateways {
		if !slices.Contains(c.Processes, pid) {
			continue
		}
		all, bad := ends()
		last := !slices.ContainsFunc(c.Processes, func(other int) bool { return !all[other] && t.networked(other) })
		d.Routing = d.Routing || c.Err == nil && bad == nil && last
		d.WayOut = d.WayOut || c.Err == nil && near.tunnels[pid]
		err = errors.Join(err, c.Err, bad, unread(f.UserID, near.unread[pid]))
	}
	status, _ := t.proc.Status(pid) //nolint:errcheck // one that has ended has no duty
	for _, s := range near.names {
		if slices.Contains(s.Processes, pid) {
			d.NameServer = d.NameServer || t.answersIn(ctx, s, pid, status.First)
			err = errors.Join(err, s.Err)
		}
	}
	if err != nil {
		d.Unread = errors.Join(d.Unread, fmt.Errorf("find the containers that this machine's network depends on: %w", err))
	}
}

// networked reports whether a process still has a network namespace: one that has ended has none.
func (t *Terminator) networked(pid int) bool {
	_, err := t.proc.Link(pid, "ns/net")
	return err == nil
}

// numbered reports whether this network namespace has a number for that of a process, as for what is at the other end
// of a line.
func (t *Terminator) numbered(pid int) bool {
	f, err := t.proc.Open(pid, "ns/net")
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read from
	id, err := netlink.GetNetNsIdByFd(int(f.Fd()))
	return err == nil && id >= 0
}

// answersIn reports whether a process holds a socket that answers, or ends with itself one that does: all of a PID
// namespace end with its first process.
func (t *Terminator) answersIn(ctx context.Context, s nameServer, pid int, first bool) (found bool) {
	pids := []int{pid}
	if first {
		beside := t.beside(pid)
		pids = slices.DeleteFunc(slices.Clone(s.Processes), func(other int) bool { return other != pid && !beside(other) })
	}
	t.proc.OpenFiles(ctx, pids, func(f procfs.OpenFile) bool { //nolint:errcheck // a container is not to be impossible to end
		inode, ok := f.Socket()
		found = found || ok && s.answers[inode]
		return !found
	})
	return found
}

// dependedOn returns them as they were at most a second ago. What a caller that went away has not read is nobody's.
func (t *Terminator) dependedOn(ctx context.Context) containers {
	n := &t.near
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.at.IsZero() && time.Since(n.at) < recent {
		return n.last
	}
	all := t.readContainers(ctx)
	if ctx.Err() == nil {
		n.last, n.at = all, time.Now()
	}
	return all
}

// readContainers finds the containers that name servers and gateways of this machine are in.
func (t *Terminator) readContainers(ctx context.Context) (all containers) {
	servers, err := t.nameServersElsewhere(ctx)
	ways, unmet := t.waysOfSessions(ctx)
	neighbours, unread := tunnels.New(t.root).Gateways(ctx, ways)
	gateways := len(neighbours)
	for _, at := range servers {
		neighbours = append(neighbours, tunnels.Hop{Address: at.Addr().Unmap()})
	}
	found, unseen := t.sessions.Containers(ctx, neighbours)
	all.err = errors.Join(err, unmet, unread, unseen)
	for i, c := range found {
		if i < gateways {
			all.gateways = append(all.gateways, c)
		} else {
			at := netip.AddrPortFrom(neighbours[i].Address.WithZone(""), servers[i-gateways].Port())
			all.names = append(all.names, nameServer{c, answering(c.Container, at)})
		}
	}
	t.findTunnels(ctx, &all)
	return all
}

// findTunnels looks for devices of tunnels in gateways. What becomes of the packets that one gets is not followed, so
// any that it has may be their way.
func (t *Terminator) findTunnels(ctx context.Context, in *containers) {
	in.tunnels, in.unread = map[int]bool{}, map[int]error{}
	var pids []int
	for _, c := range in.gateways {
		pids = append(pids, c.Processes...)
	}
	if len(pids) == 0 { // of none all would be read
		return
	}
	skipped, err := t.proc.OpenFiles(ctx, pids, func(f procfs.OpenFile) bool {
		if name, ppp := tunnels.Device(f); name != "" || ppp {
			in.tunnels[f.PID] = true
		}
		return true
	})
	in.err = errors.Join(in.err, err)
	for _, s := range skipped {
		if !errors.Is(s.Err, fs.ErrPermission) { // who may not look at a process may not end it
			in.unread[s.PID] = s.Err
		}
	}
}

// waysOfSessions lists those to the other ends of the sessions of this machine, and to what else carries these.
func (t *Terminator) waysOfSessions(ctx context.Context) ([]sessions.Connection, error) {
	model, err := t.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	ways, met := slices.Clone(model.Connections), map[netip.Addr]bool{}
	for _, c := range ways {
		met[c.Remote] = true
	}
	for a := range model.Addresses {
		if !met[a] {
			ways = append(ways, sessions.Connection{Remote: a})
		}
	}
	return ways, nil
}

// answering lists the sockets of a container that get what is asked at one place.
func answering(c sessions.Container, at netip.AddrPort) map[uint64]bool {
	list := map[uint64]bool{}
	for _, k := range c.Sockets {
		if (k.Protocol == "udp" || k.Listening) && k.Local.Port() == at.Port() && takes(k.Local.Addr(), at.Addr()) {
			list[uint64(k.ID)] = true
		}
	}
	return list
}

// nameServersElsewhere lists where at other hosts this machine asks for names, and where rules of its packet
// filter send what it asks (DNAT).
func (t *Terminator) nameServersElsewhere(ctx context.Context) (list []netip.AddrPort, err error) {
	all, err := interfaces.Addresses()
	own := plain(all)
	here := func(a netip.Addr) bool { return slices.Contains(own, a) }
	servers, unread := resolvconf.Here(t.root)
	asked := plain(servers)
	conntrack.Ask(ctx, asked)
	sent, untracked := conntrack.Translations(ctx, func(f conntrack.Translation) bool {
		return f.FromHere(here) && slices.Contains(resolvconf.Ports, f.Called.Port()) && slices.Contains(asked, f.Called.Addr())
	})
	if errors.Is(untracked, fs.ErrPermission) {
		untracked = nil // who may not ask for flows is no root, whom containers are of
	}
	for _, f := range sent {
		list = append(list, f.Wire)
	}
	servers = slices.DeleteFunc(servers, func(a netip.Addr) bool {
		nowhere := a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == "" // nobody can ask there
		return nowhere || a.Unmap().IsLoopback() || here(a.Unmap().WithZone(""))
	})
	for _, a := range servers {
		for _, port := range resolvconf.Ports {
			list = append(list, netip.AddrPortFrom(a, port))
		}
	}
	return list, errors.Join(err, unread, untracked)
}
