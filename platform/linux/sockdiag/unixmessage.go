// SPDX-License-Identifier: Apache-2.0

package sockdiag

import "encoding/binary"

// A UnixSocket is a connected stream socket of AF_UNIX.
type UnixSocket struct {
	Inode uint64
	Peer  uint64 // the inode of the other end; 0 where no process has taken that yet
	// Name is the address that it is bound to: a path, or an abstract one, which begins with a zero byte; empty for
	// none. A server's end of a connection has that of the socket which listens.
	Name string
}

// Sizes and values of linux/unix_diag.h.
const (
	unixRequestSize = headerSize + 24 // struct unix_diag_req
	unixMessageSize = 16              // struct unix_diag_msg
	familyUnix      = 1
	typeStream      = 1 // SOCK_STREAM
	typeSeqPacket   = 5 // SOCK_SEQPACKET
	stateConnected  = 1 // TCP_ESTABLISHED, which sockets of all families use
	attributeName   = 0
	attributePeer   = 2
	showNameAndPeer = 0x1 | 0x4
	anyCookie       = 1<<32 - 1 // INET_DIAG_NOCOOKIE
)

// unixRequest builds the message that asks for one socket.
func unixRequest(inode uint32) []byte {
	b := make([]byte, unixRequestSize)
	binary.NativeEndian.PutUint32(b[0:], unixRequestSize)
	binary.NativeEndian.PutUint16(b[4:], typeDiag)
	binary.NativeEndian.PutUint16(b[6:], flagRequest)
	binary.NativeEndian.PutUint32(b[8:], dumpSequence)
	b[16] = familyUnix
	binary.NativeEndian.PutUint32(b[20:], 1<<stateConnected)
	binary.NativeEndian.PutUint32(b[24:], inode)
	binary.NativeEndian.PutUint32(b[28:], showNameAndPeer)
	binary.NativeEndian.PutUint32(b[32:], anyCookie)
	binary.NativeEndian.PutUint32(b[36:], anyCookie)
	return b
}

// parseUnix parses the answer about one socket; known is false for one that is no connected stream. Its error is a
// kernelError where the kernel has none of that inode.
func parseUnix(b []byte) (s UnixSocket, known bool, err error) {
	if len(b) < headerSize {
		return s, false, ErrFormat
	}
	if length := int(binary.NativeEndian.Uint32(b)); length < headerSize+4 || length > len(b) {
		return s, false, ErrFormat
	}
	switch binary.NativeEndian.Uint16(b[4:]) {
	case typeError:
		return s, false, errno(b)
	case typeDiag:
		return parseUnixSocket(b[headerSize:binary.NativeEndian.Uint32(b)])
	}
	return s, false, ErrFormat
}

// parseUnixSocket parses one struct unix_diag_msg: family, type, state, padding (a byte each), inode and cookie.
func parseUnixSocket(b []byte) (s UnixSocket, known bool, err error) {
	if len(b) < unixMessageSize || b[0] != familyUnix {
		return s, false, ErrFormat
	}
	if b[1] != typeStream && b[1] != typeSeqPacket || b[2] != stateConnected {
		return s, false, nil
	}
	more := b[unixMessageSize:]
	s = UnixSocket{Inode: uint64(binary.NativeEndian.Uint32(b[4:])), Name: string(valueOf(more, attributeName))}
	if peer := valueOf(more, attributePeer); len(peer) >= 4 {
		s.Peer = uint64(binary.NativeEndian.Uint32(peer))
	}
	return s, true, nil
}
