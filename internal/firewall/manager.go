// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The managers that can be switched on.
const (
	UFW       = "ufw"
	Firewalld = "firewalld"
	// Nftables is the rule set of sentinel itself, for a machine without a manager.
	Nftables = "nftables"
	// ApplicationFirewall is that of macOS.
	ApplicationFirewall = "application-firewall"
)

// BaselineTable is the table of family inet in which the rule set of sentinel
// itself lives. Unlike [OwnTable] it is a firewall and counts as one.
const BaselineTable = "sentinel_firewall"

// A Port is one that packets come in to.
type Port struct {
	Number   uint16 `json:"port"`     // 1 to 65535
	Protocol string `json:"protocol"` // "tcp" or "udp"
}

// String shows a port as ufw(8) and firewall-cmd(1) take it: "22/tcp".
func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

// Compare orders ports by protocol and number.
func (p Port) Compare(o Port) int {
	return cmp.Or(cmp.Compare(p.Protocol, o.Protocol), cmp.Compare(p.Number, o.Number))
}

// ParsePort parses the form of [Port.String].
func ParsePort(text string) (Port, error) {
	digits, protocol, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits[0] == '0' || digits[0] == '+' || protocol != "tcp" && protocol != "udp" {
		return Port{}, fmt.Errorf("%q is no port such as 22/tcp", text)
	}
	return Port{Number: uint16(n), Protocol: protocol}, nil
}

// A Listener is a socket that other hosts can reach as long as no firewall
// stands before it.
type Listener struct {
	Port
	Process string `json:"process,omitempty"` // absent when the kernel itself listens
}

// OpenPorts are the ways into this machine.
type OpenPorts struct {
	// Remote are the ports that remote sessions come in by, or would: those of
	// SSH servers, and that of a tunnel which carries a live session.
	Remote []Port
	// Listeners are all exposed sockets, those of Remote included.
	Listeners []Listener
	// Peers are the other ends of the remote sessions that are open.
	Peers []netip.Addr
}

// A Verdict is what a firewall does with new connections to one port.
type Verdict int

// The verdicts. Refused means that a rule of the owner shuts out some of those
// that come in to the port, even when it is let in besides; what no rule names is
// Closed, too, once the firewall is on.
const (
	Closed Verdict = iota
	Open
	Refused
)

// A Ruling is a verdict and where it comes from.
type Ruling struct {
	Verdict Verdict
	Rule    string // what refuses, as its manager writes it; only with Refused
	Fix     string // a sentence that says how to remove it
}

// Rules are those of the owner, which a firewall follows once it is on.
type Rules func(Port) Ruling

// A Manager finds out what stands before a firewall. Its methods change nothing.
type Manager interface {
	// Backend returns what switches the firewall on here, or an error with code
	// FIREWALL_UNAVAILABLE when nothing can.
	Backend(ctx context.Context) (Backend, error)
	// OpenPorts lists the ways in. An error means that some could be missing.
	OpenPorts(ctx context.Context) (OpenPorts, error)
}

// A Backend switches one kind of firewall on.
type Backend interface {
	// Name is [UFW], [Firewalld], [Nftables] or [ApplicationFirewall].
	Name() string
	// Rules reads what the manager will let in by itself. It changes nothing. A
	// rule that refuses certain addresses counts when one of peers is among them.
	Rules(ctx context.Context, peers []netip.Addr) (Rules, error)
	// Enable lets ports in and then switches the firewall on. What it has done
	// when it fails, Undo takes back.
	Enable(ctx context.Context, ports []Port) error
	// Admits reads back whether the loaded rules let every port in from anywhere,
	// and above all from peers; the error names the first that they do not.
	Admits(ctx context.Context, ports []Port, peers []netip.Addr) error
	// Keep makes the firewall come back after a reboot. why says in words what
	// stands in the way when it does not. It is idempotent.
	Keep(ctx context.Context) (lasting bool, why string)
	// Undo takes back what Enable and Keep of this value did, and nothing else.
	Undo(ctx context.Context) error
}
