// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"maps"
	"net/netip"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/fuse"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
)

// served lists the hosts that root's file servers have called: the programs that serve what root has mounted here
// (fuse(4)), and other programs of root's that those are joined with by a pair of sockets, as sshfs is with its ssh.
// The addresses are [blocklist.ProtectedAddr.Announced]: where a program calls may follow from what others told it, so a
// block in force stays. What cannot be read protects nothing, and does not make other blocks fail.
func (s *HostContext) served(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	table, err := mounts.New(s.root).Table()
	v := fileServers{
		proc: procfs.New(s.root), at: mountedByRoot(table), places: map[int]string{},
		roots: map[int]bool{}, sockets: map[int][]uint64{}, holders: map[uint64][]int{},
	}
	if err != nil || len(v.at) == 0 {
		return nil, nil //nolint:nilerr // storage tells of it
	}
	if _, err := v.proc.OpenFiles(ctx, nil, v.visit); err != nil {
		return nil, err
	}
	if len(v.places) == 0 {
		return nil, nil
	}
	called, err := v.called(ctx)
	if err != nil {
		return nil, err
	}
	var list []blocklist.ProtectedAddr
	for pid, place := range v.helpers(ctx) {
		for _, inode := range v.sockets[pid] {
			for _, a := range called[inode] {
				p := blocklist.Protect(a, "a server of the file system at "+sanitize.Quoted(place, maxMounted))
				p.Announced = true
				list = append(list, p)
			}
		}
	}
	return list[:min(len(list), maxServed)], nil
}

// mountedByRoot lists where root has mounted file systems that processes serve, by their connections.
func mountedByRoot(table []*mountinfo.Info) map[uint64]string {
	at := map[uint64]string{}
	for _, m := range table {
		if mounts.IsFUSE(m) && mounts.Mounter(m) == 0 {
			at[mounts.Connection(m)] = mounts.PlaceOf(m)
		}
	}
	return at
}

// maxServed bounds the addresses: each is held against what is to be blocked.
const maxServed = 4096

// fileServers are root's processes in this PID namespace, and those of them that serve file systems.
type fileServers struct {
	proc    procfs.FS
	at      map[uint64]string // where root has mounted a file system that a process serves, by its connection
	places  map[int]string    // one of those that a process serves
	roots   map[int]bool      // whether a process is one of root's
	sockets map[int][]uint64  // that these have open
	holders map[uint64][]int  // who has a socket open
}

func (v *fileServers) visit(f procfs.OpenFile) bool {
	if inode, ok := f.Socket(); ok {
		if v.isRoots(f.PID) {
			v.sockets[f.PID] = append(v.sockets[f.PID], inode)
			v.holders[inode] = append(v.holders[inode], f.PID)
		}
		return true
	}
	if string(f.Link) != fuse.Path || !v.isRoots(f.PID) {
		return true
	}
	if connection, is := fuse.Device(f); is {
		if place, serves := v.place(connection); serves {
			v.places[f.PID] = place
		}
	}
	return true
}

// place is where the file system of a connection is. Where the kernel does not tell the connection it is any.
func (v *fileServers) place(connection uint64) (string, bool) {
	if place, known := v.at[connection]; known || connection != 0 {
		return place, known
	}
	for _, place := range v.at {
		return place, true
	}
	return "", false
}

// isRoots is [ofRootAlone], asked once for each process.
func (v *fileServers) isRoots(pid int) bool {
	is, known := v.roots[pid]
	if !known {
		is = ofRootAlone(v.proc, pid)
		v.roots[pid] = is
	}
	return is
}

// ofRootAlone reports whether nobody but root has chosen with whom a process is connected, as root of a container does,
// and whoever starts what lends the rights of root. With the first process everybody is.
func ofRootAlone(proc procfs.FS, pid int) bool {
	if uid, err := proc.UID(pid); pid == 1 || err != nil || uid != 0 {
		return false
	}
	status, err := proc.Status(pid)
	return err == nil && !status.Nested && !proc.Lends(pid)
}

// called lists by socket of TCP or UDP with whom it is connected, of those that have called others.
func (v *fileServers) called(ctx context.Context) (map[uint64][]netip.Addr, error) {
	const established = 1 // TCP_ESTABLISHED, include/net/tcp_states.h; UDP that is connected is, too
	all := map[uint64][]netip.Addr{}
	for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		listening, local := map[uint16]bool{}, map[uint64]uint16{}
		err := sockdiag.Dump(ctx, protocol, func(k sockdiag.Socket) {
			remote, port := k.Remote.Addr().Unmap().WithZone(""), k.Local.Port()
			if k.Remote.Port() == 0 && k.UID == 0 { // anybody may listen at that port of another address
				listening[port] = true
			}
			if _, held := v.holders[k.Inode]; held && k.State == established && k.Remote.Port() != 0 && !remote.IsLoopback() {
				all[k.Inode], local[k.Inode] = append(all[k.Inode], remote), port
			}
		})
		if err != nil {
			return nil, err
		}
		for inode, port := range local {
			if listening[port] {
				delete(all, inode)
			}
		}
	}
	return all, nil
}

// helpers adds to the servers those of root's processes that hold the other end of a pair of sockets of theirs. A
// socket with a name is one of a service that others use, too.
func (v *fileServers) helpers(ctx context.Context) map[int]string {
	all := v.places
	table, err := sockdiag.ReadUnix(ctx)
	if err != nil {
		return all // what is not told is kept by nobody
	}
	for pid, place := range maps.Clone(v.places) {
		for _, inode := range v.sockets[pid] {
			mine, connected := table.Of(inode)
			other, known := table.Of(mine.Peer)
			if !connected || !known || mine.Name != sockdiag.Unnamed || other.Name != sockdiag.Unnamed {
				continue
			}
			for _, pid := range v.holders[other.Inode] {
				if _, known := all[pid]; !known {
					all[pid] = place
				}
			}
		}
	}
	return all
}
