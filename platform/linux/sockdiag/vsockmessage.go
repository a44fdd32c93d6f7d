// SPDX-License-Identifier: Apache-2.0

package sockdiag

import "encoding/binary"

// A VSock is a socket of AF_VSOCK that listens (vsock(7)).
type VSock struct {
	CID   uint32 // of the machine that it is bound to; all ones for any
	Port  uint32
	Inode uint64
}

// Sizes and values of linux/vm_sockets_diag.h and linux/vm_sockets.h.
const (
	vsockMessageSize = 32 // struct vsock_diag_msg
	familyVSock      = 40
	stateListen      = 10 // TCP_LISTEN, which sockets of all families use
	cidLocal         = 1  // VMADDR_CID_LOCAL
)

// Inside reports whether no other machine reaches the socket.
func (s VSock) Inside() bool { return s.CID == cidLocal }

// parseVSock parses one struct vsock_diag_msg: family, type, state, shutdown (a byte each), CID and port of this end
// and of the other, inode and cookie. listens is false for one that does not.
func parseVSock(b []byte) (s VSock, listens bool, err error) {
	if len(b) < vsockMessageSize || b[0] != familyVSock {
		return s, false, ErrFormat
	}
	if b[2] != stateListen {
		return s, false, nil
	}
	field := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	return VSock{CID: field(4), Port: field(8), Inode: uint64(field(20))}, true, nil
}
