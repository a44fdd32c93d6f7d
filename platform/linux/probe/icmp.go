// SPDX-License-Identifier: Apache-2.0

//go:build linux

package probe

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// An icmpError is what a router or host answered to a packet of ours.
type icmpError struct {
	kind, code byte           // of ICMP, or of ICMPv6 when v6
	v6         bool           // from is then IPv6
	from       netip.Addr     // who answered
	to         netip.AddrPort // what the packet was for
}

// Lengths of struct sock_extended_err (linux/errqueue.h), which the address of
// the sender follows as a struct sockaddr, and the origins of interest.
const (
	extendedErrLen = 16
	originICMP     = 2
	originICMP6    = 3
)

var errNoICMP = errors.New("no ICMP error in the message")

// readError takes one message from the error queue of a socket that has
// IP_RECVERR or IPV6_RECVERR set, ip(7).
func readError(fd int) (icmpError, error) {
	var data [1]byte
	var oob [256]byte
	_, n, _, to, err := unix.Recvmsg(fd, data[:], oob[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return icmpError{}, err
	}
	e, err := parseError(oob[:n])
	e.to = addrPort(to)
	return e, err
}

// parseError parses the control messages that come with an error.
func parseError(oob []byte) (icmpError, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return icmpError{}, err
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if (v4 || v6) && len(m.Data) >= extendedErrLen {
			return parseExtended(m.Data)
		}
	}
	return icmpError{}, errNoICMP
}

// parseExtended parses struct sock_extended_err: errno, origin, type, code,
// padding, info, data.
func parseExtended(b []byte) (icmpError, error) {
	origin := b[4]
	if origin != originICMP && origin != originICMP6 {
		return icmpError{}, errNoICMP
	}
	return icmpError{kind: b[5], code: b[6], v6: origin == originICMP6, from: sockaddr(b[extendedErrLen:])}, nil
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

func addrPort(s unix.Sockaddr) netip.AddrPort {
	switch a := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	default:
		return netip.AddrPort{}
	}
}

// socketOf opens a socket for a family that never waits and keeps ICMP errors.
func socketOf(a netip.Addr, kind int) (int, error) {
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

// A destination is a socket address that can be pointed at other ports.
type destination struct {
	v4 unix.SockaddrInet4
	v6 unix.SockaddrInet6
	is bool // v4
}

func newDestination(a netip.Addr) *destination {
	if a.Is4() {
		return &destination{v4: unix.SockaddrInet4{Addr: a.As4()}, is: true}
	}
	return &destination{v6: unix.SockaddrInet6{Addr: a.As16()}}
}

// port returns the address at a port. It is good until the next call.
func (d *destination) port(p uint16) unix.Sockaddr {
	if d.is {
		d.v4.Port = int(p)
		return &d.v4
	}
	d.v6.Port = int(p)
	return &d.v6
}
