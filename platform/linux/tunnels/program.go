// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
	"sentinel/platform/unix/hostfile"
)

// program tells the processes that carry the packets of a TUN or TAP device, and with whom they
// talk. Whoever holds the device carries its packets, whatever the program is called and in
// whichever PID namespace it is: a container's processes are in this /proc, too.
func (w *walk) program(t *sessions.Tunnel) {
	holders, why := w.holders(t.Interface)
	t.Processes = holders
	if len(holders) == 0 {
		t.Unknown = "the program that carries the packets of the tunnel " + title(t.Interface) + " is not seen" + why
		return
	}
	held, err := w.sockets(holders)
	if err != nil {
		t.Unknown = fmt.Sprintf("with whom the program of the tunnel %s talks cannot be read (%v)", title(t.Interface), err)
		return
	}
	if unseen := w.peers(t, held); unseen || len(t.Addresses) == 0 {
		t.Unknown = "with whom the program of the tunnel " + title(t.Interface) + " talks is not seen (connection tracking would tell)"
	}
}

// holders lists the processes that have the interface of that name open, as the kernel says of each
// file (tun_chr_show_fdinfo in drivers/net/tun.c). Another network namespace can have an interface
// of the same name: who holds that one counts only where nobody of this namespace does. why says
// what was not looked at.
func (w *walk) holders(name string) (pids []int, why string) {
	line := []byte("iff:\t" + name + "\n")
	var elsewhere []int
	here := w.namespace("self")
	skipped, err := w.proc.OpenFiles(w.ctx, nil, func(f procfs.OpenFile) bool {
		if len(f.Link) == 0 || f.Link[0] != '/' { // sockets and pipes are no devices
			return true
		}
		pid := strconv.Itoa(f.PID)
		about, err := hostfile.Read(filepath.Join(w.root, "proc", pid, "fdinfo", strconv.Itoa(f.FD)), 4096)
		switch {
		case err != nil || !bytes.Contains(about, line):
		case w.namespace(pid) == here:
			pids = append(pids, f.PID)
		default:
			elsewhere = append(elsewhere, f.PID)
		}
		return true
	})
	switch {
	case err != nil:
		why = fmt.Sprintf(" (%v)", err)
	case len(skipped) > 0:
		why = fmt.Sprintf(" (%d processes could not be looked at)", len(skipped))
	}
	if len(pids) == 0 {
		pids = elsewhere
	}
	slices.Sort(pids)
	return slices.Compact(pids), why
}

// namespace names the network namespace of a process; empty if it cannot be read.
func (w *walk) namespace(pid string) string {
	name, _ := os.Readlink(filepath.Join(w.root, "proc", pid, "ns", "net")) //nolint:errcheck // then it is another one
	return name
}

// sockets lists the inodes of the sockets that processes have open.
func (w *walk) sockets(pids []int) (map[uint64]bool, error) {
	held := map[uint64]bool{}
	skipped, err := w.proc.OpenFiles(w.ctx, pids, func(f procfs.OpenFile) bool {
		if inode, ok := f.Socket(); ok {
			held[inode] = true
		}
		return true
	})
	if err == nil && len(skipped) > 0 {
		err = skipped[0].Err
	}
	return held, err
}

// peers adds the other ends of the sockets that are connected, and the ports that packets of new
// ones come in at. For UDP sockets that are not connected connection tracking knows the other
// ends; unseen says that it does not. What stays on this machine is left out.
func (w *walk) peers(t *sessions.Tunnel, held map[uint64]bool) (unseen bool) {
	listening := map[sessions.Port]bool{}
	var connected []sessions.Port
	var open []uint16
	visit := func(protocol string) func(sockdiag.Socket) {
		return func(s sockdiag.Socket) {
			remote, port := s.Remote.Addr().Unmap().WithZone(""), sessions.Port{Protocol: protocol, Number: s.Local.Port()}
			switch {
			case s.Remote.Port() == 0 && port.Number != 0 && !s.Local.Addr().Unmap().IsLoopback():
				listening[port] = true
				if protocol == "udp" && held[s.Inode] {
					open = append(open, port.Number)
				}
				if held[s.Inode] {
					connected = append(connected, port)
				}
			case held[s.Inode] && s.Remote.Port() != 0 && !remote.IsLoopback():
				t.Addresses = append(t.Addresses, remote)
				connected = append(connected, port)
			}
		}
	}
	for protocol, number := range map[string]uint8{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP} {
		if err := sockdiag.Dump(w.ctx, number, visit(protocol)); err != nil {
			w.errs = append(w.errs, err)
		}
	}
	for _, p := range connected {
		if listening[p] && !slices.Contains(t.Ports, p) {
			t.Ports = append(t.Ports, p)
		}
	}
	return w.tracked(t, open)
}

func (w *walk) tracked(t *sessions.Tunnel, ports []uint16) (unseen bool) {
	if len(ports) == 0 {
		return false
	}
	peers, err := w.kernel.peers(w.ctx, ports)
	if err != nil {
		w.errs = append(w.errs, err)
	}
	for _, p := range peers {
		if a := p.Address.Unmap(); a.IsValid() && !a.IsLoopback() && !w.own(a) {
			t.Addresses = append(t.Addresses, a)
		}
	}
	return len(peers) == 0
}

// own reports whether an address is of this machine.
func (w *walk) own(a netip.Addr) bool {
	return slices.ContainsFunc(w.links, func(l interfaces.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
	})
}

// ppp tells the processes that hold lines of PPP. Which of them holds which is not seen, nor where
// a line leads: that is one more network, and often the way to the Internet.
func (w *walk) ppp(l interfaces.Link) {
	t := sessions.Tunnel{Interface: l.Name, Kind: l.Kind}
	_, err := w.proc.OpenFiles(w.ctx, nil, func(f procfs.OpenFile) bool {
		if bytes.HasPrefix(f.Link, []byte("/dev/ppp")) && !slices.Contains(t.Processes, f.PID) {
			t.Processes = append(t.Processes, f.PID)
		}
		return true
	})
	if err != nil {
		w.errs = append(w.errs, err)
	}
	w.found = append(w.found, t)
}
