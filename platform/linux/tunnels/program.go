// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
)

// program tells the processes that carry the packets of a TUN or TAP device, and with whom they
// talk. Whoever holds the device carries its packets, whatever the program is called and in
// whichever PID namespace it is: a container's processes are in this /proc, too.
func (w *walk) program(l interfaces.Link) sessions.Tunnel {
	t, known := w.programs[l.Name]
	if !known {
		t = sessions.Tunnel{Interface: l.Name, Kind: l.Kind}
		w.find(&t)
		w.programs[l.Name] = t
	}
	t.Addresses, t.Ports = slices.Clone(t.Addresses), slices.Clone(t.Ports)
	return t
}

func (w *walk) find(t *sessions.Tunnel) {
	all := w.search()
	t.Processes = carriers(all.holders[t.Interface])
	if len(t.Processes) == 0 {
		t.Unknown = "the program that carries the packets of the tunnel " + title(t.Interface) + " is not seen" + all.missed
		return
	}
	held, err := w.sockets(t.Processes)
	if err != nil {
		t.Unknown = fmt.Sprintf("with whom the program of the tunnel %s talks cannot be read (%v)", title(t.Interface), err)
		return
	}
	switch unseen, err := w.peers(t, held); {
	case err != nil: // of what is found once, others have to be told as well
		t.Unknown = fmt.Sprintf("with whom the program of the tunnel %s talks is not all known (%v)", title(t.Interface), err)
	case unseen || len(t.Addresses) == 0:
		t.Unknown = "with whom the program of the tunnel " + title(t.Interface) + " talks is not seen (connection tracking would tell)"
	}
}

// devices are the files of processes that packets of network interfaces come from.
type devices struct {
	holders map[string][]holder // of TUN and TAP devices, by interface
	// ppp are processes of the system that hold lines of PPP. Which of them holds which is not seen, nor
	// where a line leads: that is one more network, and often the way to the Internet.
	ppp    []int
	missed string // what was not looked at, in parentheses
}

// A holder is a process that has a device open.
type holder struct {
	pid  int
	here bool // in this network namespace
	// system is set for root's and those of accounts of the system; of a TUN or TAP device, which a user may have
	// been given, not for what lends the rights of one.
	system bool
}

// carriers picks those who may carry the packets of this machine's interface. Another network namespace can
// have an interface of the same name, and anybody can make such a namespace and take its device out of
// it: an ordinary user's process counts only where none of the system holds the device here, and
// one of another network only where nobody does.
func carriers(list []holder) (pids []int) {
	pick := func(want func(holder) bool) {
		for _, h := range list {
			if want(h) {
				pids = append(pids, h.pid)
			}
		}
	}
	if pick(func(h holder) bool { return h.here && h.system }); len(pids) == 0 {
		pick(func(h holder) bool { return h.here || h.system })
	}
	if len(pids) == 0 {
		pick(func(holder) bool { return true })
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// search looks at the files of all processes, once.
func (w *walk) search() devices {
	if w.devices != nil {
		return *w.devices
	}
	d := devices{holders: map[string][]holder{}}
	w.devices = &d
	of := w.holders()
	skipped, err := w.proc.OpenFiles(w.ctx, nil, func(f procfs.OpenFile) bool {
		name, ppp := Device(f)
		if name == "" && !ppp {
			return true
		}
		h := of(f.PID)
		if name != "" {
			h.system = h.system && !w.proc.Lends(f.PID)
			d.holders[name] = append(d.holders[name], h)
		} else if h.system && !slices.Contains(d.ppp, f.PID) {
			d.ppp = append(d.ppp, f.PID)
		}
		return true
	})
	switch {
	case err != nil:
		d.missed = fmt.Sprintf(" (%v)", err)
	case len(skipped) > 0:
		d.missed = fmt.Sprintf(" (%d processes could not be looked at)", len(skipped))
	}
	return d
}

// Device tells the interface of a TUN or TAP device that a process has open, or that the file is a line of PPP.
func Device(f procfs.OpenFile) (name string, ppp bool) {
	if len(f.Link) == 0 || f.Link[0] != '/' { // sockets and pipes are no devices
		return "", false
	}
	return interfaceOf(f.About()), bytes.HasPrefix(f.Link, []byte("/dev/ppp")) && f.Opened()
}

// holders asks for each process once, however often it has a device open.
func (w *walk) holders() func(pid int) holder {
	known := map[int]holder{}
	here, _ := os.Readlink(filepath.Join(w.root, "proc/self/ns/net")) //nolint:errcheck // then all are elsewhere
	return func(pid int) holder {
		h, asked := known[pid]
		if !asked {
			uid, err := w.proc.UID(pid)
			h = holder{pid: pid, here: w.namespace(pid) == here, system: err == nil && procfs.SystemAccount(uid)}
			known[pid] = h
		}
		return h
	}
}

// interfaceOf finds the interface of an open device in what the kernel says of it
// (tun_chr_show_fdinfo in drivers/net/tun.c); empty for any other file.
func interfaceOf(about []byte) string {
	for line := range bytes.Lines(about) {
		if name, ok := bytes.CutPrefix(line, []byte("iff:\t")); ok {
			return string(bytes.TrimSuffix(name, []byte("\n")))
		}
	}
	return ""
}

// namespace names the network namespace of a process; empty if it cannot be read.
func (w *walk) namespace(pid int) string {
	name, _ := w.proc.Link(pid, "ns/net") //nolint:errcheck // then it is another one
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
func (w *walk) peers(t *sessions.Tunnel, held map[uint64]bool) (unseen bool, err error) {
	listening := map[sessions.Port]bool{}
	var connected []sessions.Port
	var open []uint16
	var with []end
	visit := func(protocol string) func(sockdiag.Socket) {
		return func(s sockdiag.Socket) {
			remote, port := s.Remote.Addr().Unmap().WithZone(""), sessions.Port{Protocol: protocol, Number: s.Local.Port()}
			switch {
			case s.Remote.Port() == 0 && port.Number != 0 && !s.Local.Addr().Unmap().IsLoopback():
				if held[s.Inode] || procfs.SystemAccount(s.UID) { // a user may listen beside it
					listening[port] = true
				}
				if protocol == "udp" && held[s.Inode] {
					open = append(open, port.Number)
				}
				if held[s.Inode] {
					connected = append(connected, port)
				}
			case held[s.Inode] && s.Remote.Port() != 0 && !remote.IsLoopback():
				with = append(with, end{address: remote, port: port})
				connected = append(connected, port)
			}
		}
	}
	for protocol, number := range map[string]uint8{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP} {
		err = errors.Join(err, sockdiag.Dump(w.ctx, number, visit(protocol)))
	}
	for _, p := range connected {
		if listening[p] && !slices.Contains(t.Ports, p) {
			t.Ports = append(t.Ports, p)
		}
	}
	for i, e := range with {
		with[i].came = listening[e.port]
	}
	tracked, unseen, untracked := w.tracked(open)
	w.choose(t, append(with, tracked...))
	return unseen, errors.Join(err, untracked)
}

// An end is with whom the program of a tunnel talks, and whether they came.
type end struct {
	address netip.Addr
	port    sessions.Port
	came    bool
}

func (w *walk) tracked(ports []uint16) (list []end, unseen bool, err error) {
	if len(ports) == 0 {
		return nil, false, nil
	}
	peers, err := w.kernel.peers(w.ctx, ports)
	for _, p := range peers {
		if !p.Came && p.Local.IsValid() && !w.own(p.Local.Unmap()) {
			continue // passed on for another host, or a container
		}
		if a := p.Address.Unmap(); a.IsValid() && !a.IsLoopback() && !w.own(a) {
			list = append(list, end{address: a, came: p.Came})
		}
	}
	return list, len(peers) == 0, err
}

// choose takes ends over. Answers to what the program has called need no port that is open to others.
func (w *walk) choose(t *sessions.Tunnel, list []end) {
	came := func(e end) bool { return e.came }
	if begun := slices.DeleteFunc(slices.Clone(list), came); w.begun && len(begun) > 0 {
		list, t.Ports = begun, nil
	}
	for _, e := range list {
		t.Addresses = append(t.Addresses, e.address)
	}
}

// own reports whether an address is of this machine.
func (w *walk) own(a netip.Addr) bool {
	return slices.ContainsFunc(w.links, func(l interfaces.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
	})
}
