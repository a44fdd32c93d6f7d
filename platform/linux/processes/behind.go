// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/vishvananda/netlink"

	"sentinel/internal/processes"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/resolvconf"
	"sentinel/platform/linux/tunnels"
)

// containers are those that the network of this machine depends on, read once however many processes are looked at.
type containers struct {
	once     sync.Once
	names    []nameServer
	gateways []sessions.Container
	err      error
}

// A nameServer is a container that answers this machine's questions for names.
type nameServer struct {
	sessions.Container
	answers map[uint64]bool // its sockets that do, by inode
}

// behind adds to the duty of a process in a container what it does there for this machine. Whoever connects a network
// namespace with this one is root, so the accounts in it do not count. One without a number here has no line to here.
func (t *Terminator) behind(ctx context.Context, pid int, d *processes.Duty) {
	if !t.numbered(pid) {
		return
	}
	t.near.once.Do(func() { t.readContainers(ctx) })
	if t.near.err != nil {
		d.Unread = errors.Join(d.Unread, fmt.Errorf("find the containers that this machine's network depends on: %w", t.near.err))
	}
	status, _ := t.proc.Status(pid) //nolint:errcheck // one that has ended has no duty
	for _, c := range t.near.gateways {
		// A network namespace ends with the last process in it, and its end of the line to here with that.
		d.Routing = d.Routing || slices.Contains(c.Processes, pid) && (status.First || len(c.Processes) == 1)
	}
	for _, s := range t.near.names {
		d.NameServer = d.NameServer || slices.Contains(s.Processes, pid) && t.answersIn(ctx, s, pid, status.First)
	}
}

// numbered reports whether this network namespace has a number for that of a process, as for what is at the other end
// of a line.
func (t *Terminator) numbered(pid int) bool {
	f, err := os.Open(filepath.Join(t.root, "proc", strconv.Itoa(pid), "ns", "net"))
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

// readContainers finds the containers that name servers and gateways of this machine are in.
func (t *Terminator) readContainers(ctx context.Context) {
	servers, err := t.nameServersElsewhere(ctx)
	gateways, unread := tunnels.New(t.root).Gateways(ctx)
	found, unseen := t.sessions.Containers(ctx, append(slices.Clone(servers), gateways...))
	for _, a := range servers {
		if c, ok := found[a]; ok {
			t.near.names = append(t.near.names, nameServer{c, answering(c, a)})
		}
	}
	for _, a := range gateways {
		if c, ok := found[a]; ok {
			t.near.gateways = append(t.near.gateways, c)
		}
	}
	t.near.err = errors.Join(err, unread, unseen)
}

// answering lists the sockets of a container that get what is asked at an address.
func answering(c sessions.Container, at netip.Addr) map[uint64]bool {
	list := map[uint64]bool{}
	for _, k := range c.Sockets {
		if (k.Protocol == "udp" || k.Listening) && takes(k.Local, at) {
			list[uint64(k.ID)] = true
		}
	}
	return list
}

// nameServersElsewhere lists the addresses of others that this machine asks for names, and where rules of its packet
// filter send what it asks (DNAT).
func (t *Terminator) nameServersElsewhere(ctx context.Context) ([]netip.Addr, error) {
	own, err := interfaces.Addresses()
	servers, unread := resolvconf.Here(t.root)
	servers = plain(servers)
	sent, untracked := conntrack.Translations(ctx, func(f conntrack.Translation) bool {
		return f.Called.Port() == portDNS && slices.Contains(servers, f.Called.Addr())
	})
	if errors.Is(untracked, fs.ErrPermission) {
		untracked = nil // who may not ask for flows is no root, whom containers are of
	}
	for _, f := range sent {
		servers = append(servers, f.Wire)
	}
	servers = slices.DeleteFunc(servers, func(a netip.Addr) bool { return a.IsLoopback() || slices.Contains(plain(own), a) })
	return servers, errors.Join(err, unread, untracked)
}
