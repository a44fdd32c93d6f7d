// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/netattr"
)

// statusTranslated is IPS_DST_NAT (linux/netfilter/nf_conntrack_common.h): rules put another
// destination in the place of the one that the first packet had.
const statusTranslated = 1 << 5

// statusMask is CTA_STATUS_MASK (linux/netfilter/nfnetlink_conntrack.h): with it Linux 5.15 and later list flows by
// their status.
const statusMask = 26

// A kernel has conntrackState where connection tracking is a module of it, and then natLoaded where NAT is loaded, which
// rules of every kind do that translate addresses.
const (
	conntrackState = "/sys/module/nf_conntrack/initstate"
	natLoaded      = "/sys/module/nf_nat"
)

// translates reports whether addresses may be translated here. A kernel with all of that built in does not tell.
func translates() bool { return loaded() && (exists(natLoaded) || !exists(conntrackState)) }

// maxTranslations bounds how many are listed.
const maxTranslations = 4096

// errTooManyTranslations is beside the first of more than are listed.
var errTooManyTranslations = fmt.Errorf("rules send what goes to other hosts to more than %d places", maxTranslations)

// OnWire returns the address that the packets of one connection of this machine come from, where rules of its packet
// filter have the program see another; invalid where both are one, or it is not known. Only the connection with
// exactly these ends counts: whoever talks with the same address beside it is behind the same rule.
func OnWire(protocol uint8, local, remote netip.AddrPort) (netip.Addr, error) {
	if !translates() {
		return netip.Addr{}, nil
	}
	sent := tuple{protocol, local.Addr().Unmap(), remote.Addr().Unmap().WithZone(""), local.Port(), remote.Port()}
	// The kernel marks the one answer as a part of several and sends no end of them; the acknowledgement is the end.
	ask := flowRequest(sent.dest, nl.IPCTNL_MSG_CT_GET, unix.NLM_F_ACK)
	ask.AddData(sent.attribute(nl.CTA_TUPLE_ORIG))
	messages, err := ask.Execute(unix.NETLINK_NETFILTER, 0)
	if errors.Is(err, unix.ENOENT) {
		return netip.Addr{}, nil
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("look for a connection (nf_conntrack_netlink): %w", err)
	}
	for _, b := range messages {
		f, err := parseFlow(b)
		if a := f.cameFrom(sent); err == nil && a.IsValid() && a != sent.dest {
			return a, nil
		}
	}
	return netip.Addr{}, nil
}

// cameFrom returns the source of what comes in answer to packets of a flow that this machine sends.
func (f flow) cameFrom(sent tuple) netip.Addr {
	switch sent {
	case f.original:
		return f.reply.source
	case f.reply:
		return f.original.source
	}
	return netip.Addr{}
}

// attribute is a CTA_TUPLE_ORIG or CTA_TUPLE_REPLY. The kernel finds a flow by the tuple of either direction.
func (t tuple) attribute(kind int) *nl.RtAttr {
	from, to := nl.CTA_IP_V4_SRC, nl.CTA_IP_V4_DST
	if t.dest.Is6() {
		from, to = nl.CTA_IP_V6_SRC, nl.CTA_IP_V6_DST
	}
	all := nl.NewRtAttr(unix.NLA_F_NESTED|kind, nil)
	ends := all.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_IP, nil)
	ends.AddRtAttr(from, t.source.AsSlice())
	ends.AddRtAttr(to, t.dest.AsSlice())
	ports := all.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_PROTO, nil)
	ports.AddRtAttr(nl.CTA_PROTO_NUM, []byte{t.protocol})
	ports.AddRtAttr(nl.CTA_PROTO_SRC_PORT, binary.BigEndian.AppendUint16(nil, t.fromPort))
	ports.AddRtAttr(nl.CTA_PROTO_DST_PORT, binary.BigEndian.AppendUint16(nil, t.toPort))
	return all
}

// A Translation is where rules of this machine's packet filter send what goes from one of its addresses to another
// host.
type Translation struct {
	Local  netip.Addr
	Called netip.AddrPort // whom the program called
	Wire   netip.AddrPort // who gets the packets
}

// FromHere reports whether it is this machine that calls, and another one that gets the packets, by the addresses of
// this one. What goes through from others tells nothing of what this machine needs.
func (t Translation) FromHere(own func(netip.Addr) bool) bool {
	here := func(a netip.Addr) bool { return a.IsLoopback() || own(a) }
	return here(t.Local) && !here(t.Wire.Addr())
}

// Translations lists those that are wanted of the flows that are remembered, two flows from one address to the same
// place once. Wire comes from rules, which root makes; who may call whom is for wanted to say.
func Translations(ctx context.Context, wanted func(Translation) bool) (list []Translation, err error) {
	if !translates() {
		return nil, nil
	}
	seen := map[Translation]bool{}
	for _, family := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		err := visitFlows(family, func(b []byte) bool {
			t, ok := translationOf(b)
			if !ok || !wanted(t) {
				return ctx.Err() == nil
			}
			if key := (Translation{Called: netip.AddrPortFrom(t.Called.Addr(), 0), Wire: t.Wire}); !seen[key] {
				seen[key], list = true, append(list, t)
			}
			return ctx.Err() == nil && len(list) <= maxTranslations
		}, onlyTranslated()...)
		if err != nil {
			return nil, err
		}
	}
	if len(list) > maxTranslations {
		return slices.Clip(list[:maxTranslations]), errTooManyTranslations
	}
	return list, ctx.Err()
}

// onlyTranslated has the kernel filter: anybody can make hundreds of thousands of flows, of which none is translated.
func onlyTranslated() []*nl.RtAttr {
	bit := binary.BigEndian.AppendUint32(nil, statusTranslated)
	return []*nl.RtAttr{nl.NewRtAttr(nl.CTA_STATUS, bit), nl.NewRtAttr(statusMask, bit)}
}

// translationOf looks at the status before the rest, which takes longer to parse: the kernel may have listed all flows.
func translationOf(b []byte) (Translation, bool) {
	if !translated(b) {
		return Translation{}, false
	}
	f, err := parseFlow(b)
	t := Translation{f.original.source, netip.AddrPortFrom(f.original.dest, f.original.toPort), netip.AddrPortFrom(f.reply.source, f.reply.fromPort)}
	called, wire := t.Called.Addr(), t.Wire.Addr()
	return t, err == nil && t.Local.IsValid() && called.IsValid() && wire.IsValid() && wire != called
}

func translated(b []byte) (yes bool) {
	err := netattr.Visit(b, nl.SizeofNfgenmsg, func(a *mdnetlink.AttributeDecoder) {
		if a.Type() == nl.CTA_STATUS {
			yes = a.Uint32()&statusTranslated != 0
		}
	})
	return yes && err == nil
}
