// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/sockdiag"
	"sentinel/platform/unix/hostfile"
)

// tunDevice is what a program opens to carry the packets of an interface. /proc
// says for which interface it is open (proc_pid_fdinfo(5)).
const tunDevice = "/dev/net/tun"

// tunHolders lists the processes that carry the packets of an interface.
func (s *HostContext) tunHolders(ctx context.Context, name string) ([]int, error) {
	table, err := s.proc.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range table {
		carries, err := s.holdsTUN(p.PID, name)
		if err != nil && !hasEnded(err) {
			return nil, fmt.Errorf("process %d: %w", p.PID, err)
		}
		if carries {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

func (s *HostContext) holdsTUN(pid int, name string) (bool, error) {
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

// peersOf lists the addresses that processes talk with. For a UDP socket that is
// not connected, only connection tracking knows; where it does not either, that is an error.
func (s *HostContext) peersOf(ctx context.Context, t tunnel, pids []int) ([]netip.Addr, error) {
	held := map[uint64]bool{}
	for _, pid := range pids {
		inodes, err := s.sockets(pid)
		if err != nil && !hasEnded(err) {
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
		tracked, err := conntrack.Peers(ctx, ports)
		if err != nil {
			return peers, err
		}
		if len(tracked) == 0 {
			return peers, peersUnseen(t)
		}
		for _, p := range tracked {
			peers = append(peers, p.Address)
		}
	}
	if len(peers) == 0 {
		return nil, peersUnseen(t)
	}
	return peers, nil
}

func peersUnseen(t tunnel) error {
	return fmt.Errorf("a session comes through the tunnel %s, and with whom its program talks is not seen (connection tracking would tell)", t.title())
}

// openSockets returns the other ends of the sockets that are connected, and the
// UDP ports of those that are not. Sockets over loopback are left out.
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
