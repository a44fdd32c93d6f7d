// SPDX-License-Identifier: Apache-2.0

// Package sockdiag lists sockets through NETLINK_SOCK_DIAG (sock_diag(7)), the interface that ss(8)
// uses. It needs no root and reads tens of thousands of sockets in milliseconds, whereas for
// /proc/net/tcp the kernel prints each as text.
package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// A Socket is one socket as the kernel reports it.
type Socket struct {
	Local, Remote netip.AddrPort // an IPv6 link-local address has its interface index as zone
	State         uint8          // of include/net/tcp_states.h, 1 to 12
	UID           int            // who made it
	Inode         uint64         // 0 for a socket without a process, such as TIME_WAIT
	Traffic       *Traffic       // nil unless it was asked for and the kernel tells
	OnlyIPv6      bool           // it takes nothing from IPv4 (ipv6(7), IPV6_V6ONLY); told of those that listen
	Device        uint32         // the index of the interface that it is bound to (socket(7), SO_BINDTODEVICE), 0 for none
}

// Traffic is how many bytes of data a TCP connection has moved.
type Traffic struct {
	Sent     uint64 // without what was sent again
	Received uint64 // in order, whether or not a process has read them
}

// ErrFormat reports a reply that does not have the form of struct
// inet_diag_msg.
var ErrFormat = errors.New("sock_diag: unexpected format")

// Sizes and values of linux/inet_diag.h, linux/netlink.h and linux/sock_diag.h.
const (
	requestSize = 16 + 56 // struct nlmsghdr, struct inet_diag_req_v2
	messageSize = 72      // struct inet_diag_msg
	headerSize  = 16      // struct nlmsghdr

	typeError     = 2
	typeDone      = 3
	typeDiag      = 20 // SOCK_DIAG_BY_FAMILY
	flagRequest   = 0x1
	flagDump      = 0x300
	flagDumpIntr  = 0x10
	familyInet    = 2
	familyInet6   = 10
	dumpSequence  = 1
	addressOffset = 8

	attributeInfo   = 2  // INET_DIAG_INFO: struct tcp_info
	attributeV6Only = 11 // INET_DIAG_SKV6ONLY: a byte, since Linux 4.3 told without being asked for
	// Offsets in struct tcp_info of linux/tcp.h: the first since Linux 4.1, the others since 4.19.
	bytesReceived = 128
	bytesSent     = 200
	bytesRetrans  = 208

	// states asks for states 1 to 12. Bit 13, in Linux 6.8 and later, would add TCP sockets that
	// are bound but neither listen nor connect: nothing reaches them, and neither ss nor
	// /proc/net/tcp shows them.
	states = 1<<13 - 1<<1
)

// request builds the message that asks for all live sockets of a family and
// protocol, with attributes, each a bit.
func request(family, protocol, attributes uint8) []byte {
	b := make([]byte, requestSize)
	putHeader(b)
	b[16], b[17], b[18] = family, protocol, attributes
	binary.NativeEndian.PutUint32(b[20:], states)
	return b
}

// familyRequest builds the message that asks for all sockets of a family in some states, each a bit: struct
// unix_diag_req and struct vsock_diag_req are alike. What show says is the family's own.
func familyRequest(family uint8, states, show uint32) []byte {
	b := make([]byte, headerSize+24)
	putHeader(b)
	b[16] = family
	binary.NativeEndian.PutUint32(b[20:], states)
	binary.NativeEndian.PutUint32(b[28:], show)
	return b
}

// putHeader writes the struct nlmsghdr of a request for all sockets.
func putHeader(b []byte) {
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], typeDiag)
	binary.NativeEndian.PutUint16(b[6:], flagRequest|flagDump)
	binary.NativeEndian.PutUint32(b[8:], dumpSequence)
}

// A kernelError is the errno of an NLMSG_ERROR or NLMSG_DONE reply.
type kernelError int32

func (e kernelError) Error() string { return fmt.Sprintf("sock_diag: errno %d", int32(e)) }

// errno reads the negative errno after the header.
func errno(b []byte) kernelError {
	return kernelError(-int32(binary.NativeEndian.Uint32(b[headerSize:])))
}

// parseReplies walks the netlink messages of one datagram and hands over what each tells of a socket, without the
// header. done reports that the dump is complete.
func parseReplies(b []byte, visit func([]byte) error) (done bool, err error) {
	for len(b) >= headerSize {
		length := int(binary.NativeEndian.Uint32(b))
		if length < headerSize || length > len(b) {
			return false, ErrFormat
		}
		if done, err := parseReply(b[:length], visit); done || err != nil {
			return done, err
		}
		b = b[min(len(b), (length+3)&^3):]
	}
	if len(b) > 0 {
		return false, ErrFormat
	}
	return false, nil
}

func parseReply(b []byte, visit func([]byte) error) (done bool, err error) {
	switch binary.NativeEndian.Uint16(b[4:]) {
	case typeDone:
		// A dump that was broken off ends with an errno.
		if len(b) >= headerSize+4 {
			if code := errno(b); code > 0 {
				return true, code
			}
		}
		return true, nil
	case typeError:
		if len(b) < headerSize+4 {
			return false, ErrFormat
		}
		return false, errno(b)
	case typeDiag:
		return false, visit(b[headerSize:])
	}
	return false, nil
}

// eachSocket hands over sockets in place of their bytes.
func eachSocket(visit func(Socket)) func([]byte) error {
	return func(b []byte) error {
		s, err := parseSocket(b)
		if err == nil {
			visit(s)
		}
		return err
	}
}

// parseSocket parses one struct inet_diag_msg: family, state, timer, retrans
// (a byte each), ports and addresses in network order, interface index, cookie, expires,
// queues, uid, inode.
func parseSocket(b []byte) (Socket, error) {
	if len(b) < messageSize {
		return Socket{}, ErrFormat
	}
	size := 0
	switch b[0] {
	case familyInet:
		size = 4
	case familyInet6:
		size = 16
	default:
		return Socket{}, ErrFormat
	}
	index, more := binary.NativeEndian.Uint32(b[40:]), b[messageSize:]
	only := valueOf(more, attributeV6Only)
	return Socket{
		Local:  address(b[addressOffset:][:size], b[4:], index),
		Remote: address(b[addressOffset+16:][:size], b[6:], index),
		State:  b[1],
		Device: index,
		UID:    int(binary.NativeEndian.Uint32(b[64:])),
		Inode:  uint64(binary.NativeEndian.Uint32(b[68:])),

		Traffic: traffic(valueOf(more, attributeInfo)), OnlyIPv6: len(only) > 0 && only[0] != 0,
	}, nil
}

// valueOf returns the value of one of the attributes of a socket (struct rtattr: length and type).
func valueOf(b []byte, kind uint16) []byte {
	for len(b) >= 4 {
		length := int(binary.NativeEndian.Uint16(b))
		if length < 4 || length > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:]) == kind {
			return b[4:length]
		}
		b = b[min(len(b), (length+3)&^3):]
	}
	return nil
}

// traffic reads it from struct tcp_info; nil where the kernel is too old to tell.
func traffic(info []byte) *Traffic {
	if len(info) < bytesRetrans+8 {
		return nil
	}
	count := func(offset int) uint64 { return binary.NativeEndian.Uint64(info[offset:]) }
	return &Traffic{Sent: count(bytesSent) - count(bytesRetrans), Received: count(bytesReceived)}
}

func address(ip, port []byte, index uint32) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	a = a.Unmap()
	if index != 0 && a.Is6() && a.IsLinkLocalUnicast() {
		a = a.WithZone(fmt.Sprint(index))
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
}
