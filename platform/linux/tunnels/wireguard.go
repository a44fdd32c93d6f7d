// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/netattr"
)

// A device is an interface of WireGuard with its peers.
type device struct {
	port  uint16 // of UDP, that it listens at
	peers []peer
}

// A peer that has never been heard of and was not given one has no endpoint.
type peer struct {
	key      string
	endpoint netip.Addr
	allowed  []netip.Prefix // the addresses behind it
}

// wireGuard tells the peer that has the remote address behind it. The kernel sends to the one with
// the longest prefix, and takes packets with that source from no other.
func (w *walk) wireGuard(t *sessions.Tunnel, index int, remote netip.Addr) {
	d, err := w.device(index)
	if err != nil {
		t.Unknown = fmt.Sprintf("the peers of the tunnel %s cannot be read (%v)", title(t.Interface), err)
		return
	}
	if d.port != 0 {
		t.Ports = []sessions.Port{{Protocol: "udp", Number: d.port}}
	}
	if p, ok := d.behind(remote); ok && p.endpoint.IsValid() {
		t.Addresses = []netip.Addr{p.endpoint}
	}
}

func (d device) behind(remote netip.Addr) (best peer, ok bool) {
	length := -1
	for _, p := range d.peers {
		for _, a := range p.allowed {
			if a.Contains(remote) && a.Bits() > length {
				best, length, ok = p, a.Bits(), true
			}
		}
	}
	return best, ok
}

func (r *Reader) device(index int) (device, error) {
	messages, err := r.kernel.wireGuard(index)
	if err != nil {
		return device{}, err
	}
	var d device
	for _, m := range messages {
		if err := d.parse(m); err != nil {
			return device{}, err
		}
	}
	return d, nil
}

// parse parses a struct genlmsghdr and a device with some of its peers (linux/wireguard.h).
func (d *device) parse(b []byte) error {
	return netattr.Visit(b, nl.SizeofGenlmsg, func(a *mdnetlink.AttributeDecoder) {
		switch a.Type() {
		case unix.WGDEVICE_A_LISTEN_PORT:
			if b := a.Bytes(); len(b) == 2 {
				d.port = binary.NativeEndian.Uint16(b)
			}
		case unix.WGDEVICE_A_PEERS:
			netattr.Nested(a, func(one *mdnetlink.AttributeDecoder) {
				var p peer
				netattr.Nested(one, p.read)
				d.add(p)
			})
		}
	})
}

// add puts together a peer that goes on in the next message, with its key and more addresses
// alone.
func (d *device) add(p peer) {
	if n := len(d.peers); n > 0 && d.peers[n-1].key == p.key {
		d.peers[n-1].allowed = append(d.peers[n-1].allowed, p.allowed...)
		return
	}
	d.peers = append(d.peers, p)
}

func (p *peer) read(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case unix.WGPEER_A_PUBLIC_KEY:
		p.key = string(a.Bytes())
	case unix.WGPEER_A_ENDPOINT:
		a.Do(func(b []byte) (err error) {
			p.endpoint, err = parseSocketAddress(b)
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
				p.allowed = append(p.allowed, behind)
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
