// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"net/netip"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/sockdiag"
)

// inodeBits are those of a SocketID that are the inode. All paths of an MPTCP connection have that of the one socket
// that its process holds (mptcp_sock_graft in net/mptcp/protocol.h), and the bits above tell them apart. The kernel
// has 32 bits for the inode of a socket.
const inodeBits = 48

// pathID is the ID of a path, of which the first is 0 and has the inode itself.
func pathID(inode uint64, n int) sessions.SocketID {
	return sessions.SocketID(inode | uint64(n)<<inodeBits)
}

// firstPath is the ID of the first path of another one; 0 for that itself.
func firstPath(inode uint64, n int) sessions.SocketID {
	if n == 0 {
		return 0
	}
	return sessions.SocketID(inode)
}

func inodeOf(id sessions.SocketID) uint64 { return uint64(id) & (1<<inodeBits - 1) }

// A path is one socket of those with an inode.
type path struct {
	inode uint64
	ends
}

type ends struct{ local, remote netip.AddrPort }

func endsOf(d sockdiag.Socket) ends { return ends{d.Local, d.Remote} }

// keep takes over sockets that were read.
func (r *reading) keep(list []sessions.Socket) {
	r.sockets = append(r.sockets, list...)
	for _, k := range list {
		if k.PathOf == 0 {
			continue
		}
		if r.paths == nil {
			r.paths = map[sessions.SocketID][]sessions.SocketID{}
		}
		r.paths[k.PathOf] = append(r.paths[k.PathOf], k.ID)
	}
}

// byPath finds the sockets that were read, and none that were opened since.
func (r *reading) byPath() map[path]sessions.SocketID {
	all := make(map[path]sessions.SocketID, len(r.sockets))
	for _, k := range r.sockets {
		all[path{inodeOf(k.ID), ends{k.Local, k.Remote}}] = k.ID
	}
	return all
}
