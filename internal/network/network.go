// SPDX-License-Identifier: Apache-2.0

// Package network describes the connections, listeners and interfaces of this
// machine.
package network

import (
	"context"
	"net/netip"
	"strconv"
)

// A Protocol is a transport protocol, by its name in /etc/protocols.
type Protocol string

// The protocols that are reported.
const (
	TCP     Protocol = "tcp"
	UDP     Protocol = "udp"
	UDPLite Protocol = "udplite" // RFC 3828; Linux alone has it
)

// A State is the state of a socket, by the names of RFC 9293. An unconnected socket
// of UDP or UDP-Lite counts as Listen: it accepts packets from anyone.
type State string

// The states.
const (
	Established State = "ESTABLISHED"
	SynSent     State = "SYN_SENT"
	SynReceived State = "SYN_RECEIVED"
	FinWait1    State = "FIN_WAIT_1"
	FinWait2    State = "FIN_WAIT_2"
	TimeWait    State = "TIME_WAIT"
	Closed      State = "CLOSED"
	CloseWait   State = "CLOSE_WAIT"
	LastAck     State = "LAST_ACK"
	Listen      State = "LISTEN"
	Closing     State = "CLOSING"
)

// A Socket is one of TCP, UDP or UDP-Lite. IPv4-mapped IPv6 addresses are reported as
// IPv4.
type Socket struct {
	Protocol Protocol
	State    State
	Local    netip.AddrPort
	Remote   netip.AddrPort
	ID       uint64 // identifies the socket to Owners; 0 has no owner
	OnlyIPv6 bool   // it listens and takes nothing from IPv4, as far as the system tells
	Internal bool   // the other end is an address of this machine, too, or of loopback
	Inside   bool   // it is bound to the interface lo, whose packets are of this machine alone
	Routed   bool   // packets of other hosts are let through to it although it is at a loopback address
	System   bool   // the user is root or an account of the system
	UID      int    // of the user who made it, however many IDs that user has; 0 is root, or a system that does not tell
}

// User is whose share of the rows the socket takes (see [answer.Share]), "" of nobody's: it is root's.
func (s Socket) User() string {
	if s.UID == 0 {
		return ""
	}
	return strconv.Itoa(s.UID)
}

// Exposed reports whether other hosts can reach the socket unless a packet filter prevents it.
func (s Socket) Exposed() bool {
	return !s.Inside && (s.Routed || !s.Local.Addr().IsLoopback())
}

// An Owner is the process behind a socket.
type Owner struct {
	PID  int
	Name string
}

// An Interface holds the counters of one network interface since it came up.
type Interface struct {
	Name                                      string
	Loopback                                  bool
	BytesIn, PacketsIn, ErrorsIn, DropsIn     uint64
	BytesOut, PacketsOut, ErrorsOut, DropsOut uint64
	// NoDropsIn and NoDropsOut say that the system does not report how many packets
	// it dropped.
	NoDropsIn, NoDropsOut bool
}

// A Source reads the network state of the platform.
type Source interface {
	// Sockets calls visit for every TCP, UDP and UDP-Lite socket in the caller's network
	// namespace.
	Sockets(ctx context.Context, visit func(Socket)) error
	// Owners finds the processes behind sockets, by their ID; one without has none. denied says
	// that some processes could not be inspected; those that had too many files to inspect are a
	// [SkippedError] beside the owners that were found.
	Owners(ctx context.Context, sockets []Socket) (owners map[uint64]Owner, denied bool, err error)
	// Interfaces reads the counters of all interfaces.
	Interfaces(ctx context.Context) ([]Interface, error)
}
