// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/conntrack"
)

// ErrCannotClose says that the kernel was built without INET_DIAG_DESTROY, so
// that open connections end only when their programs give up.
var ErrCannotClose = errors.New("this kernel cannot close the connections of other programs")

// A ConnKiller closes sockets through sock_diag(7), as "ss --kill" does, and
// deletes the flows that connection tracking remembers.
//
// A program whose connection is closed reads ECONNABORTED. The peer is sent a reset, which
// does not leave this machine once the address is blocked: Kill before the block lets the
// peer know, and Kill after it ends what was opened in between.
type ConnKiller struct{}

var _ blocklist.ConnKiller = ConnKiller{}

// Kill implements [blocklist.ConnKiller] for TCP and connected UDP sockets of the
// caller's network namespace. The error may be [ErrCannotClose]; the flows are deleted
// nevertheless.
func (ConnKiller) Kill(ctx context.Context, address netip.Addr) (int, error) {
	address = address.Unmap()
	closed, err := closeSockets(ctx, address)
	return closed, errors.Join(err, conntrack.Delete(ctx, address))
}

// Numbers of linux/inet_diag.h and linux/sock_diag.h.
const (
	diagRequest   = 56 // struct inet_diag_req_v2
	diagMessage   = 72 // struct inet_diag_msg
	diagBytecode  = 1  // INET_DIAG_REQ_BYTECODE
	diagRemote    = 8  // INET_DIAG_BC_D_COND
	diagByFamily  = 20
	diagDestroy   = 21
	diagSocketID  = 8 // where struct inet_diag_sockid stands in a request
	diagMessageID = 4 // and in an answer
	diagIDSize    = 48
)

// open states of TCP (include/net/tcp_states.h): all but LISTEN, CLOSE and
// TIME_WAIT. A UDP socket is connected or closed.
const (
	tcpOpen = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11 | 1<<12
	udpOpen = 1 << 1
)

func closeSockets(ctx context.Context, address netip.Addr) (int, error) {
	conn, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return 0, fmt.Errorf("open sock_diag: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	if err := configure(ctx, conn); err != nil {
		return 0, fmt.Errorf("open sock_diag: %w", err)
	}
	families := []uint8{unix.AF_INET6}
	if address.Is4() { // sockets of IPv6 may have peers of IPv4 too
		families = append(families, unix.AF_INET)
	}
	closed := 0
	for _, family := range families {
		for protocol, states := range map[uint8]uint32{unix.IPPROTO_TCP: tcpOpen, unix.IPPROTO_UDP: udpOpen} {
			n, err := closeKind(ctx, conn, family, protocol, states, address)
			if closed += n; err != nil {
				return closed, err
			}
		}
	}
	return closed, nil
}

func closeKind(ctx context.Context, conn *netlink.Conn, family, protocol uint8, states uint32, address netip.Addr) (int, error) {
	replies, err := conn.Execute(socketsRequest(family, protocol, states, address))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) { // without the protocol there is no socket of it
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list sockets: %w", err)
	}
	closed := 0
	for _, m := range replies {
		if ctx.Err() != nil {
			return closed, ctx.Err()
		}
		if len(m.Data) < diagMessage {
			continue
		}
		_, err := conn.Execute(destroyRequest(protocol, m.Data))
		switch {
		case err == nil:
			closed++
		case errors.Is(err, unix.EOPNOTSUPP):
			return closed, ErrCannotClose
		case !errors.Is(err, unix.ENOENT): // it has ended by itself
			return closed, fmt.Errorf("close a socket: %w", err)
		}
	}
	return closed, nil
}

// socketsRequest asks for the sockets of one family and protocol whose peer has an
// address. The kernel selects them: a host may have hundreds of thousands.
func socketsRequest(family, protocol uint8, states uint32, address netip.Addr) netlink.Message {
	body := make([]byte, diagRequest)
	body[0], body[1] = family, protocol
	binary.NativeEndian.PutUint32(body[4:], states)
	e := netlink.NewAttributeEncoder()
	e.Bytes(diagBytecode, peerFilter(address))
	filter, _ := e.Encode() //nolint:errcheck // nothing in it can fail
	return netlink.Message{
		Header: netlink.Header{Type: diagByFamily, Flags: netlink.Request | netlink.Dump},
		Data:   append(body, filter...),
	}
}

// peerFilter is a program of one struct inet_diag_bc_op with a struct
// inet_diag_hostcond. Where the peer is address, with any port, it goes on to the end, which accepts;
// otherwise it jumps behind the end, which rejects. With an IPv4 address it also finds
// IPv4-mapped peers of IPv6 sockets.
func peerFilter(address netip.Addr) []byte {
	raw := address.AsSlice()
	length := 4 + 8 + len(raw)
	b := make([]byte, 12, length)
	b[0], b[1] = diagRemote, uint8(length)
	binary.NativeEndian.PutUint16(b[2:], uint16(length+4))
	b[4] = unix.AF_INET
	if address.Is6() {
		b[4] = unix.AF_INET6
	}
	b[5] = uint8(address.BitLen())
	binary.NativeEndian.PutUint32(b[8:], 1<<32-1) // any port
	return append(b, raw...)
}

// destroyRequest asks to close the very socket that an answer is about: its cookie is
// part of its identity.
func destroyRequest(protocol uint8, answer []byte) netlink.Message {
	body := make([]byte, diagRequest)
	body[0], body[1] = answer[0], protocol
	copy(body[diagSocketID:], answer[diagMessageID:][:diagIDSize])
	return netlink.Message{
		Header: netlink.Header{Type: diagDestroy, Flags: netlink.Request | netlink.Acknowledge},
		Data:   body,
	}
}
