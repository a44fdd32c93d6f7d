// SPDX-License-Identifier: Apache-2.0

// Package interfaces lists network interfaces with their addresses, over rtnetlink(7).
//
// Two dumps answer for all interfaces. The standard library's net.Interfaces asks
// for the addresses of each interface anew, which on a container host with a thousand
// interfaces means a thousand dumps, and it gives neither the operational state nor the kind.
//
// The netlink library that reads routes elsewhere can list interfaces as well. It is not
// used here because it leaves out IFLA_GRE_REMOTE of erspan and ip6erspan, calls a "tun" a
// "tuntap" and reads /sys of the running system for it, and panics where an attribute is
// shorter than it should be.
package interfaces

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
)

var (
	// ErrFormat reports a message that does not have the form rtnetlink(7)
	// documents.
	ErrFormat = errors.New("unexpected format of an rtnetlink message")
	// ErrInterrupted reports that the interfaces changed each time they were listed.
	ErrInterrupted = errors.New("the network interfaces change too fast to be listed")
)

// Flags of an interface, netdevice(7).
const (
	FlagUp       = 0x1
	FlagLoopback = 0x8
	FlagLowerUp  = 0x10000
)

// Operational states of RFC 2863 as the kernel numbers them.
const (
	OperUnknown = 0
	OperUp      = 6
)

// A Link is one interface.
type Link struct {
	Index     int
	Master    int // index of the bridge or bond that it is a port of; 0 for none
	Name      string
	MAC       []byte // as long as the hardware has it: 6 bytes for Ethernet, 20 for InfiniBand
	MTU       uint32 // bytes
	Flags     uint32
	OperState uint8
	Kind      string         // IFLA_INFO_KIND: "veth", "bridge"; empty for hardware
	Addresses []netip.Prefix // the address itself, with the length of its network
	// Lower is the index of the interface that this one is on, such as that of a VLAN, 0 for none.
	// It may be one of another network namespace.
	Lower int
	// Abroad is set where Lower is one of another network namespace, and Namespace is the number that this one
	// has for it (RTM_GETNSID of rtnetlink(7)).
	Abroad    bool
	Namespace int
	Remote    netip.Addr // far end of a tunnel; invalid where the link has none
	Local     netip.Addr // this end of it; invalid where any address may be
	Port      uint16     // UDP port of this machine that its packets come in at; 0 where the link has none
	XFRM      uint32     // identifier that the policies of IPsec for an interface have; 0 for none
}

// Pair reports whether another interface is at the other end, which is Lower.
func (l Link) Pair() bool { return l.Kind == "veth" || l.Kind == "netkit" }

// Up reports whether the interface carries traffic. Drivers that do not keep
// the operational state leave it unknown; then the flags decide.
func (l Link) Up() bool {
	return l.OperState == OperUp || l.OperState == OperUnknown && l.Flags&FlagUp != 0 && l.Flags&FlagLowerUp != 0
}

const (
	// attempts is how often a dump is repeated that was interrupted by a change.
	attempts = 5
	// replyTimeout bounds all dumps of one conversation. The kernel answers within milliseconds.
	replyTimeout = 5 * time.Second
)

// List returns the interfaces of the caller's network namespace, by index.
func List() ([]Link, error) {
	conn, err := dial()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	return list(conn)
}

func dial() (*netlink.Conn, error) {
	conn, err := netlink.Dial(routeProtocol, nil)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
		conn.Close() //nolint:errcheck // nothing was written yet
		return nil, err
	}
	return conn, nil
}

// Addresses returns those of all interfaces of the caller's network namespace, without lengths of
// networks. It fails as [List] does.
func Addresses() (list []netip.Addr, err error) {
	links, err := List()
	for _, l := range links {
		for _, p := range l.Addresses {
			list = append(list, p.Addr())
		}
	}
	return list, err
}

func list(conn *netlink.Conn) ([]Link, error) {
	links, err := dump(conn, getLink, make([]byte, linkLen))
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	addresses, err := dump(conn, getAddress, make([]byte, addressLen))
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	return join(links, addresses)
}

// dump asks for everything of a kind.
func dump(conn *netlink.Conn, kind netlink.HeaderType, header []byte) ([]netlink.Message, error) {
	request := netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request | netlink.Dump}, Data: header}
	for range attempts {
		replies, err := conn.Execute(request)
		if err != nil {
			return nil, err
		}
		interrupted := func(m netlink.Message) bool { return m.Header.Flags&netlink.DumpInterrupted != 0 }
		if !slices.ContainsFunc(replies, interrupted) {
			return replies, nil
		}
	}
	return nil, ErrInterrupted
}

// join puts the answers to a dump of links and one of addresses together. Links
// come by their index, the addresses of each in the kernel's order.
func join(links, addresses []netlink.Message) ([]Link, error) {
	list := []Link{}
	for _, m := range links {
		if m.Header.Type != newLink {
			continue
		}
		l, err := parseLink(m.Data)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b Link) int { return cmp.Compare(a.Index, b.Index) })
	for _, m := range addresses {
		if m.Header.Type != newAddress {
			continue
		}
		index, prefix, err := parseAddress(m.Data)
		if err != nil {
			return nil, err
		}
		at, found := slices.BinarySearchFunc(list, index, func(l Link, index int) int { return cmp.Compare(l.Index, index) })
		if found && prefix.IsValid() {
			list[at].Addresses = append(list[at].Addresses, prefix)
		}
	}
	return list, nil
}
