// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"net/netip"
	"slices"

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
		proc: procfs.New(s.root), at: map[uint64]string{}, places: map[int]string{},
		roots: map[int]bool{}, sockets: map[int][]uint64{}, holders: map[uint64][]int{},
	}
	for _, m := range table {
		if mounts.IsFUSE(m) && mounts.Mounter(m) == 0 {
			v.at[uint64(m.Minor)] = mounts.PlaceOf(m)
		}
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
	ends, err := v.ends(ctx)
	if err != nil {
		return nil, err
	}
	var list []blocklist.ProtectedAddr
	for pid, place := range v.helpers(ctx, ends) {
		for _, inode := range v.sockets[pid] {
			for _, a := range ends.remote[inode] {
				p := blocklist.Protect(a, "a server of the file system at "+sanitize.Quoted(place, maxMounted))
				p.Announced = true
				list = append(list, p)
			}
		}
	}
	return list[:min(len(list), maxServed)], nil
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

// wires are the sockets of TCP and UDP, and with whom those are connected that have called others.
type wires struct {
	known  map[uint64]bool
	remote map[uint64][]netip.Addr
}

func (v *fileServers) ends(ctx context.Context) (wires, error) {
	const established = 1 // TCP_ESTABLISHED, include/net/tcp_states.h; UDP that is connected is, too
	w := wires{map[uint64]bool{}, map[uint64][]netip.Addr{}}
	for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		listening, local := map[uint16]bool{}, map[uint64]uint16{}
		err := sockdiag.Dump(ctx, protocol, func(k sockdiag.Socket) {
			remote, port := k.Remote.Addr().Unmap().WithZone(""), k.Local.Port()
			if k.Remote.Port() == 0 && k.UID == 0 { // anybody may listen at that port of another address
				listening[port] = true
			}
			if _, held := v.holders[k.Inode]; !held {
				return
			}
			w.known[k.Inode] = true
			if k.State == established && k.Remote.Port() != 0 && !remote.IsLoopback() {
				w.remote[k.Inode], local[k.Inode] = append(w.remote[k.Inode], remote), port
			}
		})
		if err != nil {
			return wires{}, err
		}
		for inode, port := range local {
			if listening[port] {
				delete(w.remote, inode)
			}
		}
	}
	return w, nil
}

// helpers adds to the servers those of root's processes that hold the other end of a pair of sockets of theirs. A
// socket with a name is one of a service that others use, too.
func (v *fileServers) helpers(ctx context.Context, w wires) map[int]string {
	ctx, end := context.WithTimeout(ctx, sockdiag.UnixTime)
	defer end()
	of := map[uint64]string{}
	var mine, peers []uint64
	for pid, place := range v.places {
		for _, inode := range v.sockets[pid] {
			if !w.known[inode] && len(mine) < sockdiag.MaxUnix {
				mine, of[inode] = append(mine, inode), place
			}
		}
	}
	_ = sockdiag.Unix(ctx, mine, func(k sockdiag.UnixSocket) { //nolint:errcheck // what is not told is kept by nobody
		if k.Name == "" && len(v.holders[k.Peer]) > 0 {
			peers, of[k.Peer] = append(peers, k.Peer), of[k.Inode]
		}
	})
	all := v.places
	_ = sockdiag.Unix(ctx, slices.Compact(slices.Sorted(slices.Values(peers))), func(k sockdiag.UnixSocket) { //nolint:errcheck // as above
		for _, pid := range v.holders[k.Inode] {
			if _, known := all[pid]; !known && k.Name == "" {
				all[pid] = of[k.Inode]
			}
		}
	})
	return all
}
