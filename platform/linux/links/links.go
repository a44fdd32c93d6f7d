// SPDX-License-Identifier: Apache-2.0

// Package links lists network interfaces with their addresses, over rtnetlink(7).
//
// Two dumps answer for all interfaces. The standard library's net.Interfaces asks
// for the addresses of each interface anew, which on a container host with a thousand of
// them means a thousand dumps, and it does not give the operational state.
package links

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
)

// ErrFormat reports a message that does not have the form rtnetlink(7) documents.
var ErrFormat = errors.New("unexpected format of an rtnetlink message")

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
	Name      string
	MAC       []byte // as long as the hardware has it: 6 bytes for Ethernet, 20 for InfiniBand
	MTU       uint32 // bytes
	Flags     uint32
	OperState uint8
	Kind      string         // "veth", "bridge"; empty for hardware
	Addresses []netip.Prefix // the address itself, with the length of its network
}

// Up reports whether the interface carries traffic. Drivers that do not keep
// the operational state leave it unknown; then the flags decide.
func (l Link) Up() bool {
	return l.OperState == OperUp || l.OperState == OperUnknown && l.Flags&FlagUp != 0 && l.Flags&FlagLowerUp != 0
}

// Lengths and types of linux/netlink.h, linux/rtnetlink.h and linux/if_link.h.
const (
	headerLen     = 16 // struct nlmsghdr
	linkLen       = 16 // struct ifinfomsg
	addressLen    = 8  // struct ifaddrmsg
	attributeLen  = 4  // struct rtattr
	messageDone   = 3
	messageError  = 2
	newLink       = 16
	newAddress    = 20
	linkAddress   = 1
	linkName      = 3
	linkMTU       = 4
	linkOperState = 16
	linkInfo      = 18
	linkInfoKind  = 1
	ifaAddress    = 1
	ifaLocal      = 2
	familyIPv4    = 2
	familyIPv6    = 10
)

// parse joins the answers to a dump of links and one of addresses. Links come
// by their index, the addresses of each in the kernel's order.
func parse(links, addresses []byte) ([]Link, error) {
	list, err := parseLinks(links)
	if err != nil {
		return nil, err
	}
	byIndex := make(map[int]*Link, len(list))
	for i := range list {
		byIndex[list[i].Index] = &list[i]
	}
	err = messages(addresses, newAddress, func(b []byte) error {
		index, prefix, err := parseAddress(b)
		if err == nil && byIndex[index] != nil && prefix.IsValid() {
			byIndex[index].Addresses = append(byIndex[index].Addresses, prefix)
		}
		return err
	})
	return list, err
}

func parseLinks(b []byte) ([]Link, error) {
	list := []Link{}
	err := messages(b, newLink, func(b []byte) error {
		link, err := parseLink(b)
		if err == nil {
			list = append(list, link)
		}
		return err
	})
	slices.SortStableFunc(list, func(a, b Link) int { return cmp.Compare(a.Index, b.Index) })
	return list, err
}

func parseLink(b []byte) (Link, error) {
	if len(b) < linkLen {
		return Link{}, ErrFormat
	}
	l := Link{
		Index: int(int32(binary.NativeEndian.Uint32(b[4:8]))),
		Flags: binary.NativeEndian.Uint32(b[8:12]),
	}
	err := attributes(b[linkLen:], func(kind uint16, value []byte) {
		switch {
		case kind == linkName:
			l.Name = text(value)
		case kind == linkAddress:
			l.MAC = value
		case kind == linkMTU && len(value) == 4:
			l.MTU = binary.NativeEndian.Uint32(value)
		case kind == linkOperState && len(value) == 1:
			l.OperState = value[0]
		case kind == linkInfo:
			l.Kind = infoKind(value)
		}
	})
	return l, err
}

// infoKind reads the nested attribute; a form that is not understood leaves the
// kind unknown.
func infoKind(b []byte) string {
	kind := ""
	err := attributes(b, func(t uint16, value []byte) {
		if t == linkInfoKind {
			kind = text(value)
		}
	})
	if err != nil {
		return ""
	}
	return kind
}

// parseAddress takes the local address where there is one: on a point-to-point
// link the other attribute is the far end.
func parseAddress(b []byte) (int, netip.Prefix, error) {
	if len(b) < addressLen {
		return 0, netip.Prefix{}, ErrFormat
	}
	index := int(int32(binary.NativeEndian.Uint32(b[4:8])))
	var local, other []byte
	err := attributes(b[addressLen:], func(kind uint16, value []byte) {
		switch kind {
		case ifaLocal:
			local = value
		case ifaAddress:
			other = value
		}
	})
	if local == nil {
		local = other
	}
	if b[0] != familyIPv4 && b[0] != familyIPv6 {
		return index, netip.Prefix{}, err
	}
	address, ok := netip.AddrFromSlice(local)
	prefix := netip.PrefixFrom(address, int(b[1]))
	if err == nil && (!ok || !prefix.IsValid()) {
		err = ErrFormat
	}
	return index, prefix, err
}

// messages calls do with the body of each netlink message of the wanted type.
func messages(b []byte, wanted uint16, do func([]byte) error) error {
	for len(b) >= headerLen {
		length := binary.NativeEndian.Uint32(b[:4])
		kind := binary.NativeEndian.Uint16(b[4:6])
		if length < headerLen || uint64(length) > uint64(len(b)) || kind == messageError {
			return ErrFormat
		}
		if kind == messageDone {
			return nil
		}
		if kind == wanted {
			if err := do(b[headerLen:length]); err != nil {
				return err
			}
		}
		b = b[min(align(int(length)), len(b)):]
	}
	if len(b) > 0 {
		return ErrFormat
	}
	return nil
}

// attributes calls do with each attribute. The two high bits of a type are
// flags (nested, network byte order).
func attributes(b []byte, do func(kind uint16, value []byte)) error {
	for len(b) >= attributeLen {
		length := int(binary.NativeEndian.Uint16(b[:2]))
		if length < attributeLen || length > len(b) {
			return ErrFormat
		}
		do(binary.NativeEndian.Uint16(b[2:4])&0x3fff, b[attributeLen:length])
		b = b[min(align(length), len(b)):]
	}
	return nil
}

func align(n int) int { return (n + 3) &^ 3 }

func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
