// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package errqueue reads the ICMP errors that the kernel keeps for a socket
// (IP_RECVERR, ip(7); IPV6_RECVERR, ipv6(7)). It needs no privilege.
package errqueue

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// An Error is what a router or host answered to a packet of ours.
type Error struct {
	Type, Code byte           // of ICMP, or of ICMPv6 when V6
	V6         bool           // From is then IPv6
	From       netip.Addr     // who answered
	To         netip.AddrPort // what the packet was for
}

// Lengths of struct sock_extended_err (linux/errqueue.h), which the address of
// the sender follows as a struct sockaddr, and the origins of interest.
const (
	extendedErrLen = 16
	originICMP     = 2
	originICMP6    = 3
)

// ErrNotICMP reports a control message without an ICMP error.
var ErrNotICMP = errors.New("no ICMP error in the message")

// Read takes one message from the error queue of a socket that has
// IP_RECVERR or IPV6_RECVERR set, ip(7).
func Read(fd int) (Error, error) {
	var data [1]byte
	var oob [256]byte
	_, n, _, to, err := unix.Recvmsg(fd, data[:], oob[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return Error{}, err
	}
	e, err := Parse(oob[:n])
	e.To = AddrPort(to)
	return e, err
}

// Parse parses the control messages that come with an error.
func Parse(oob []byte) (Error, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return Error{}, err
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if (v4 || v6) && len(m.Data) >= extendedErrLen {
			return parseExtended(m.Data)
		}
	}
	return Error{}, ErrNotICMP
}

// parseExtended parses struct sock_extended_err: errno, origin, type, code,
// padding, info, data.
func parseExtended(b []byte) (Error, error) {
	origin := b[4]
	if origin != originICMP && origin != originICMP6 {
		return Error{}, ErrNotICMP
	}
	return Error{Type: b[5], Code: b[6], V6: origin == originICMP6, From: sockaddr(b[extendedErrLen:])}, nil
}

// sockaddr parses the address of a struct sockaddr_in or sockaddr_in6; invalid
// when it is another.
func sockaddr(b []byte) netip.Addr {
	if len(b) < 2 {
		return netip.Addr{}
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 8:
		return netip.AddrFrom4([4]byte(b[4:8]))
	case family == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrFrom16([16]byte(b[8:24])).Unmap()
	default:
		return netip.Addr{}
	}
}

// AddrPort converts a socket address; the zero value stands for a family other
// than IPv4 and IPv6.
func AddrPort(s unix.Sockaddr) netip.AddrPort {
	switch a := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	default:
		return netip.AddrPort{}
	}
}

// Socket opens a socket for the family of an address. It never blocks, and keeps
// ICMP errors.
func Socket(a netip.Addr, kind int) (int, error) {
	family, level, option := unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_RECVERR
	if a.Is4() {
		family, level, option = unix.AF_INET, unix.IPPROTO_IP, unix.IP_RECVERR
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.SetsockoptInt(fd, level, option, 1); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// A Destination is a socket address that can be pointed at other ports.
type Destination struct {
	v4   unix.SockaddrInet4
	v6   unix.SockaddrInet6
	isV4 bool // v4
}

// NewDestination returns the address with port 0.
func NewDestination(a netip.Addr) *Destination {
	if a.Is4() {
		return &Destination{v4: unix.SockaddrInet4{Addr: a.As4()}, isV4: true}
	}
	return &Destination{v6: unix.SockaddrInet6{Addr: a.As16()}}
}

// Port returns the address with a port. It is valid until the next call.
func (d *Destination) Port(p uint16) unix.Sockaddr {
	if d.isV4 {
		d.v4.Port = int(p)
		return &d.v4
	}
	d.v6.Port = int(p)
	return &d.v6
}

// NoRoute says whether the kernel refused to send because it has no route.
func NoRoute(err error) bool {
	n, _ := errors.AsType[unix.Errno](err)
	switch n {
	case unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.EINVAL: // the last for an address that needs a zone
		return true
	default:
		return false
	}
}
