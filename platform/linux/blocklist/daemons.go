// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/sanitize"
	"sentinel/platform/linux/sockdiag"
	"sentinel/platform/unix/hostfile"
)

// tunDevice is what a program opens to carry the packets of an interface. Of an
// open one /proc tells which (proc_pid_fdinfo(5)).
const tunDevice = "/dev/net/tun"

// tunHolders lists the processes that carry the packets of an interface.
func (s *HostContext) tunHolders(ctx context.Context, name string) ([]int, error) {
	table, err := s.proc.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range table {
		carries, err := s.carries(p.PID, name)
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("process %d: %w", p.PID, err)
		}
		if carries {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

func (s *HostContext) carries(pid int, name string) (bool, error) {
	directory := filepath.Join(s.root, "proc", strconv.Itoa(pid))
	dir, err := os.Open(filepath.Join(directory, "fd"))
	if err != nil {
		return false, err
	}
	defer dir.Close() //nolint:errcheck // only read from
	names, err := dir.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	for _, fd := range names {
		link, err := os.Readlink(filepath.Join(directory, "fd", fd))
		if err != nil || !strings.HasPrefix(link, tunDevice) {
			continue
		}
		raw, err := hostfile.Read(filepath.Join(directory, "fdinfo", fd), 4096)
		if err == nil && slices.Contains(strings.Split(string(raw), "\n"), "iff:\t"+name) {
			return true, nil
		}
	}
	return false, nil
}

// talksWith lists the addresses with which processes talk. A UDP socket that is
// not connected does not tell; connection tracking may. What it does not know of is an error.
func (s *HostContext) talksWith(ctx context.Context, t tunnel, pids []int) ([]netip.Addr, error) {
	held := map[uint64]bool{}
	for _, pid := range pids {
		inodes, err := s.sockets(pid)
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		for _, i := range inodes {
			held[i] = true
		}
	}
	peers, ports, err := openSockets(ctx, held)
	if err != nil {
		return nil, err
	}
	if len(ports) > 0 {
		tracked, err := trackedPeers(ctx, ports)
		if err != nil {
			return peers, err
		}
		if len(tracked) == 0 {
			return peers, unseen(t)
		}
		peers = append(peers, tracked...)
	}
	if len(peers) == 0 {
		return nil, unseen(t)
	}
	return peers, nil
}

func unseen(t tunnel) error {
	return fmt.Errorf("a session comes through the tunnel %s, and with whom its program talks is not seen (connection tracking would tell)", sanitize.Text(t.name, 15))
}

// openSockets returns the other ends of the sockets that are connected, and the
// UDP ports of those that are not. What stays on this machine is left out.
func openSockets(ctx context.Context, held map[uint64]bool) (peers []netip.Addr, ports []uint16, err error) {
	visit := func(protocol uint8) func(sockdiag.Socket) {
		return func(d sockdiag.Socket) {
			remote := d.Remote.Addr().Unmap()
			switch {
			case !held[d.Inode] || d.Local.Addr().Unmap().IsLoopback() || remote.IsLoopback():
			case d.Remote.Port() != 0:
				peers = append(peers, remote)
			case protocol == unix.IPPROTO_UDP && d.Local.Port() != 0:
				ports = append(ports, d.Local.Port())
			}
		}
	}
	for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		err = errors.Join(err, sockdiag.Dump(ctx, protocol, visit(protocol)))
	}
	return peers, ports, err
}

// Attributes of linux/netfilter/nfnetlink_conntrack.h, beside those above.
const (
	flowProtocol  = 2 // CTA_TUPLE_PROTO; within it the number and two ports
	flowNumber    = 1 // CTA_PROTO_NUM
	flowFrom      = 2 // CTA_PROTO_SRC_PORT
	flowTo        = 3 // CTA_PROTO_DST_PORT
	flowStatus    = 3 // CTA_STATUS
	flowAnswered  = 2 // IPS_SEEN_REPLY
	flowSource4   = 1 // CTA_IP_V4_SRC
	flowSource6   = 3 // CTA_IP_V6_SRC
	flowDest4     = 2 // CTA_IP_V4_DST
	flowDest6     = 4 // CTA_IP_V6_DST
	lengthOfPort  = 2
	lengthOfState = 4
)

// trackedPeers lists the other ends of UDP flows with one of the ports. Flows
// that nobody answered are left out: anyone can send a packet.
func trackedPeers(ctx context.Context, ports []uint16) ([]netip.Addr, error) {
	if _, err := os.Stat(tracking); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []netip.Addr
	for _, family := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		ask := flowRequest(family, nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
		err := ask.ExecuteIter(unix.NETLINK_NETFILTER, 0, func(b []byte) bool {
			if a, ok := peerOfFlow(b, ports); ok && !slices.Contains(list, a) {
				list = append(list, a)
			}
			return ctx.Err() == nil && len(list) < maxFiles
		})
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list connections: %w", err)
		}
	}
	return list, ctx.Err()
}

// A way is one direction of a flow.
type way struct {
	protocol         uint8
	source, dest     netip.Addr
	fromPort, toPort uint16
}

// peerOfFlow returns the other end of an answered UDP flow that one of the ports
// takes part in. What cannot be parsed is none.
func peerOfFlow(b []byte, ports []uint16) (netip.Addr, bool) {
	if len(b) < nfgenmsg {
		return netip.Addr{}, false
	}
	var w way
	answered := false
	err := attributes(b[nfgenmsg:], func(kind uint16, value []byte) error {
		switch {
		case kind == flowStatus && len(value) == lengthOfState:
			answered = binary.BigEndian.Uint32(value)&flowAnswered != 0
		case kind == flowOriginal:
			return w.parse(value)
		}
		return nil
	})
	if err != nil || !answered || w.protocol != unix.IPPROTO_UDP {
		return netip.Addr{}, false
	}
	switch {
	case slices.Contains(ports, w.toPort) && w.source.IsValid():
		return w.source, true
	case slices.Contains(ports, w.fromPort) && w.dest.IsValid():
		return w.dest, true
	}
	return netip.Addr{}, false
}

func (w *way) parse(b []byte) error {
	return attributes(b, func(kind uint16, part []byte) error {
		switch kind {
		case flowIP:
			return attributes(part, w.address)
		case flowProtocol:
			return attributes(part, w.port)
		}
		return nil
	})
}

func (w *way) address(kind uint16, value []byte) error {
	a, ok := netip.AddrFromSlice(value)
	switch {
	case ok && (kind == flowSource4 || kind == flowSource6):
		w.source = a
	case ok && (kind == flowDest4 || kind == flowDest6):
		w.dest = a
	}
	return nil
}

func (w *way) port(kind uint16, value []byte) error {
	switch {
	case kind == flowNumber && len(value) == 1:
		w.protocol = value[0]
	case kind == flowFrom && len(value) == lengthOfPort:
		w.fromPort = binary.BigEndian.Uint16(value)
	case kind == flowTo && len(value) == lengthOfPort:
		w.toPort = binary.BigEndian.Uint16(value)
	}
	return nil
}
