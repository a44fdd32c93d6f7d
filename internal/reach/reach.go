// SPDX-License-Identifier: Apache-2.0

// Package reach has the words for whether other hosts can reach a socket of this machine.
package reach

import "net/netip"

// An Answer says whether other hosts can reach a socket. The zero value is said of
// sockets on loopback, of which nobody asks.
type Answer string

// The answers. Each is said only if the rules of the packet filter leave no doubt.
const (
	Reachable Answer = "reachable" // the packet filter lets new connections of other hosts in
	Filtered  Answer = "filtered"  // it lets in none
	Unknown   Answer = "unknown"   // the rules cannot be read, or do not say
)

// A Verdict is an answer with what belongs to it.
type Verdict struct {
	Answer Answer
	// Limited goes with Reachable: the rules let in only some hosts or networks.
	Limited bool
	// Why is the reason for Unknown, in a few words.
	Why string
}

// Open reports whether any host may be let in that comes by: neither none nor
// only those that the rules choose.
func (v Verdict) Open() bool { return v.Answer != Filtered && !v.Limited }

// A Judge gives the verdict on a socket that waits at local, an address that is not loopback, for
// "tcp", "udp" or "udplite". process is the name of its program, "" if that is not known.
type Judge func(protocol string, local netip.AddrPort, process string) Verdict
