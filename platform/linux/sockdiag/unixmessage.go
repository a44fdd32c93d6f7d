// SPDX-License-Identifier: Apache-2.0

package sockdiag

import "encoding/binary"

// A UnixSocket is a connected stream socket of AF_UNIX.
type UnixSocket struct {
	Inode uint64
	Peer  uint64 // the inode of the other end; 0 where no process has taken that yet
	// Name is the kind of address that it is bound to. A server's end of a connection has that of the socket which
	// listens.
	Name UnixName
}

// A UnixName is a kind of address of AF_UNIX (unix(7)).
type UnixName uint8

// Kinds of addresses.
const (
	Unnamed UnixName = iota
	Pathname
	Abstract
)

// Sizes and values of linux/unix_diag.h.
const (
	unixMessageSize = 16 // struct unix_diag_msg
	familyUnix      = 1
	typeStream      = 1 // SOCK_STREAM
	typeSeqPacket   = 5 // SOCK_SEQPACKET
	stateConnected  = 1 // TCP_ESTABLISHED, which sockets of all families use
	attributeName   = 0
	attributePeer   = 2
	showNameAndPeer = 0x1 | 0x4
)

// parseUnixSocket parses one struct unix_diag_msg: family, type, state, padding (a byte each), inode and cookie.
// connected is false for one that is no connected stream.
func parseUnixSocket(b []byte) (s UnixSocket, connected bool, err error) {
	if len(b) < unixMessageSize || b[0] != familyUnix {
		return s, false, ErrFormat
	}
	if b[1] != typeStream && b[1] != typeSeqPacket || b[2] != stateConnected {
		return s, false, nil
	}
	more := b[unixMessageSize:]
	s = UnixSocket{Inode: uint64(binary.NativeEndian.Uint32(b[4:])), Name: unixName(valueOf(more, attributeName))}
	if peer := valueOf(more, attributePeer); len(peer) >= 4 {
		s.Peer = uint64(binary.NativeEndian.Uint32(peer))
	}
	return s, true, nil
}

func unixName(address []byte) UnixName {
	switch {
	case len(address) == 0:
		return Unnamed
	case address[0] == 0:
		return Abstract
	}
	return Pathname
}
