// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package wireguard reads what the kernel tells of an interface of WireGuard (linux/wireguard.h).
package wireguard

import (
	"encoding/binary"
	"net/netip"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/netattr"
)

// A Device is an interface of WireGuard with its peers.
type Device struct {
	Port  uint16 // of UDP, that it listens at
	Peers []Peer
}

// A Peer that has never been heard of and was not given one has no endpoint.
type Peer struct {
	key      string
	Endpoint netip.Addr
	Allowed  []netip.Prefix // the addresses behind it
}

// Dump asks for an interface with its peers, and returns the messages as they are.
func Dump(index int) ([][]byte, error) {
	family, err := netlink.GenlFamilyGet(unix.WG_GENL_NAME)
	if err != nil {
		return nil, err
	}
	ask := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
	ask.AddData(&nl.Genlmsg{Command: unix.WG_CMD_GET_DEVICE, Version: unix.WG_GENL_VERSION})
	ask.AddData(nl.NewRtAttr(unix.WGDEVICE_A_IFINDEX, binary.NativeEndian.AppendUint32(nil, uint32(index))))
	return ask.Execute(unix.NETLINK_GENERIC, 0)
}

// Parse puts the messages about one interface together.
func Parse(messages [][]byte) (Device, error) {
	var d Device
	for _, m := range messages {
		if err := d.parse(m); err != nil {
			return Device{}, err
		}
	}
	return d, nil
}

// Behind returns the peer with the longest prefix that holds the address: the kernel sends to that
// one, and takes packets with that source from no other.
func (d Device) Behind(remote netip.Addr) (best Peer, ok bool) {
	length := -1
	for _, p := range d.Peers {
		for _, a := range p.Allowed {
			if a.Contains(remote) && a.Bits() > length {
				best, length, ok = p, a.Bits(), true
			}
		}
	}
	return best, ok
}

// parse parses a struct genlmsghdr and a device with some of its peers.
func (d *Device) parse(b []byte) error {
	return netattr.Visit(b, nl.SizeofGenlmsg, func(a *mdnetlink.AttributeDecoder) {
		switch a.Type() {
		case unix.WGDEVICE_A_LISTEN_PORT:
			if b := a.Bytes(); len(b) == 2 {
				d.Port = binary.NativeEndian.Uint16(b)
			}
		case unix.WGDEVICE_A_PEERS:
			netattr.Nested(a, func(one *mdnetlink.AttributeDecoder) {
				var p Peer
				netattr.Nested(one, p.read)
				d.add(p)
			})
		}
	})
}

// add puts together a peer that goes on in the next message, with its key and more addresses
// alone.
func (d *Device) add(p Peer) {
	if n := len(d.Peers); n > 0 && p.key != "" && d.Peers[n-1].key == p.key {
		d.Peers[n-1].Allowed = append(d.Peers[n-1].Allowed, p.Allowed...)
		return
	}
	d.Peers = append(d.Peers, p)
}

func (p *Peer) read(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case unix.WGPEER_A_PUBLIC_KEY:
		p.key = string(a.Bytes())
	case unix.WGPEER_A_ENDPOINT:
		a.Do(func(b []byte) (err error) {
			p.Endpoint, err = parseSocketAddress(b)
			return err
		})
	case unix.WGPEER_A_ALLOWEDIPS:
		netattr.Nested(a, func(one *mdnetlink.AttributeDecoder) {
			var address netip.Addr
			bits := -1
			netattr.Nested(one, func(a *mdnetlink.AttributeDecoder) {
				switch a.Type() {
				case unix.WGALLOWEDIP_A_IPADDR:
					address, _ = netip.AddrFromSlice(a.Bytes())
				case unix.WGALLOWEDIP_A_CIDR_MASK:
					bits = int(a.Uint8())
				}
			})
			if behind := netip.PrefixFrom(address, bits); behind.IsValid() {
				p.Allowed = append(p.Allowed, behind)
			}
		})
	}
}

// parseSocketAddress parses a struct sockaddr_in or sockaddr_in6.
func parseSocketAddress(b []byte) (netip.Addr, error) {
	switch {
	case len(b) >= unix.SizeofSockaddrInet4 && binary.NativeEndian.Uint16(b) == unix.AF_INET:
		return netip.AddrFrom4([4]byte(b[4:8])), nil
	case len(b) >= unix.SizeofSockaddrInet6-4 && binary.NativeEndian.Uint16(b) == unix.AF_INET6:
		return netip.AddrFrom16([16]byte(b[8:24])).Unmap(), nil
	}
	return netip.Addr{}, netattr.ErrFormat
}
