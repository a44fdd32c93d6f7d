// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package conntrack reads and deletes the flows that the kernel's connection tracking remembers
// (linux/netfilter/nfnetlink_conntrack.h).
package conntrack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/netattr"
)

// conntrackLoaded exists where connection tracking is loaded. Asking the kernel
// for its flows would load it.
const conntrackLoaded = "/proc/sys/net/netfilter/nf_conntrack_count"

// maxFlows bounds how many flows of one address are deleted in one go.
const maxFlows = 100_000

// maxPeers bounds how many peers are listed.
const maxPeers = 4096

// ErrTooManyPeers is beside the first of more peers than are listed.
var ErrTooManyPeers = fmt.Errorf("more than %d hosts talk with it over UDP", maxPeers)

// Delete deletes the flows that have address as either end, in either
// direction: with NAT it may be in only one of the four places. A flow that was handed to a
// flowtable (nft(8)) passes no chain at all until it is deleted.
func Delete(ctx context.Context, address netip.Addr) error {
	var flows [][]byte
	raw := address.AsSlice()
	err := visitFlows(address, func(b []byte) bool {
		// Most flows are of other addresses, and parsing each would take long.
		if bytes.Contains(b, raw) && hasEnd(b, address) {
			flows = append(flows, bytes.Clone(b))
		}
		return ctx.Err() == nil && len(flows) < maxFlows
	})
	if err != nil {
		return err
	}
	for _, f := range flows {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ask := flowRequest(address, nl.IPCTNL_MSG_CT_DELETE, unix.NLM_F_ACK)
		ask.AddRawData(f[nl.SizeofNfgenmsg:])
		if _, err := ask.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("delete a connection: %w", err)
		}
	}
	return ctx.Err()
}

// visitFlows asks for the flows of a family, that of any of its addresses, until
// visit returns false. Without connection tracking there are none. Kernels that do not
// know a filter return all flows.
func visitFlows(family netip.Addr, visit func([]byte) bool, filter ...*nl.RtAttr) error {
	if !loaded() {
		return nil
	}
	ask := flowRequest(family, nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
	for _, a := range filter {
		ask.AddData(a)
	}
	err := ask.ExecuteIter(unix.NETLINK_NETFILTER, 0, visit)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return fmt.Errorf("list connections (nf_conntrack_netlink): %w", err)
	}
	return nil
}

func loaded() bool { return exists(conntrackLoaded) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func flowRequest(address netip.Addr, operation, flags int) *nl.NetlinkRequest {
	family := uint8(unix.AF_INET)
	if address.Is6() {
		family = unix.AF_INET6
	}
	ask := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|operation, flags)
	ask.AddData(&nl.Nfgenmsg{NfgenFamily: family, Version: nl.NFNETLINK_V0})
	return ask
}

// A Peer is the other end of a UDP flow.
type Peer struct {
	Port    uint16 // the local one
	Address netip.Addr
	Came    bool       // the first packet came from there
	Local   netip.Addr // this end, or of a flow that is passed on the other one
}

// Peers lists the other ends of UDP flows with one of the ports. Flows that nobody answered are left
// out: anyone can send a packet. Of more than 4096 it returns some, with [ErrTooManyPeers].
func Peers(ctx context.Context, ports []uint16) ([]Peer, error) {
	table, err := Read(ctx, ports)
	if err != nil {
		return nil, err
	}
	return table.Peers(ports)
}

// A Table has the other ends of UDP flows by their local ports, of each up to one more than are listed.
type Table map[uint16][]Peer

// Read reads what [Table.Peers] tells of some ports, in one pass over all flows. Whoever talks at one of them
// leaves those of others where they are.
func Read(ctx context.Context, ports []uint16) (Table, error) {
	table, wanted, seen := Table{}, map[uint16]bool{}, map[Peer]bool{}
	for _, port := range ports {
		wanted[port] = true
	}
	for _, family := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		err := visitFlows(family, func(b []byte) bool {
			if p, ok := peerOfFlow(b, wanted); ok && !seen[p] && len(table[p.Port]) <= maxPeers {
				seen[p], table[p.Port] = true, append(table[p.Port], p)
			}
			return ctx.Err() == nil
		})
		if err != nil {
			return nil, err
		}
	}
	return table, ctx.Err()
}

// Peers lists those of some ports. Of more than 4096 it returns some, with [ErrTooManyPeers].
func (t Table) Peers(ports []uint16) (list []Peer, err error) {
	for i, port := range ports {
		if !slices.Contains(ports[:i], port) {
			list = append(list, t[port]...)
		}
		if len(list) > maxPeers {
			return list[:maxPeers], ErrTooManyPeers
		}
	}
	return list, nil
}

// A flow is a connection as connection tracking remembers it.
type flow struct {
	original, reply tuple
	answered        bool
}

// A tuple is one direction of a flow.
type tuple struct {
	protocol         uint8
	source, dest     netip.Addr
	fromPort, toPort uint16
}

// statusAnswered is IPS_SEEN_REPLY (linux/netfilter/nf_conntrack_common.h).
const statusAnswered = 2

// parseFlow parses a struct nfgenmsg with the attributes of
// linux/netfilter/nfnetlink_conntrack.h.
func parseFlow(b []byte) (f flow, err error) {
	err = netattr.Visit(b, nl.SizeofNfgenmsg, func(a *mdnetlink.AttributeDecoder) {
		switch a.Type() {
		case nl.CTA_TUPLE_ORIG:
			netattr.Nested(a, f.original.read)
		case nl.CTA_TUPLE_REPLY:
			netattr.Nested(a, f.reply.read)
		case nl.CTA_STATUS:
			f.answered = a.Uint32()&statusAnswered != 0
		}
	})
	return f, err
}

func (t *tuple) read(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case nl.CTA_TUPLE_IP:
		netattr.Nested(a, t.readAddress)
	case nl.CTA_TUPLE_PROTO:
		netattr.Nested(a, t.readPort)
	}
}

func (t *tuple) readAddress(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case nl.CTA_IP_V4_SRC, nl.CTA_IP_V6_SRC:
		t.source, _ = netip.AddrFromSlice(a.Bytes())
	case nl.CTA_IP_V4_DST, nl.CTA_IP_V6_DST:
		t.dest, _ = netip.AddrFromSlice(a.Bytes())
	}
}

func (t *tuple) readPort(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case nl.CTA_PROTO_NUM:
		t.protocol = a.Uint8()
	case nl.CTA_PROTO_SRC_PORT:
		t.fromPort = a.Uint16()
	case nl.CTA_PROTO_DST_PORT:
		t.toPort = a.Uint16()
	}
}

// hasEnd says whether a flow has address in one of its tuples. What cannot be
// parsed has not.
func hasEnd(b []byte, address netip.Addr) bool {
	f, err := parseFlow(b)
	ends := []netip.Addr{f.original.source, f.original.dest, f.reply.source, f.reply.dest}
	return err == nil && slices.Contains(ends, address)
}

// peerOfFlow returns the other end of an answered UDP flow that one of the ports
// takes part in. What cannot be parsed is none.
func peerOfFlow(b []byte, ports map[uint16]bool) (Peer, bool) {
	f, err := parseFlow(b)
	t := f.original
	switch {
	case err != nil || !f.answered || t.protocol != unix.IPPROTO_UDP:
		return Peer{}, false
	case ports[t.toPort] && t.source.IsValid():
		return Peer{t.toPort, t.source, true, t.dest}, true
	case ports[t.fromPort] && t.dest.IsValid():
		return Peer{t.fromPort, t.dest, false, t.source}, true
	}
	return Peer{}, false
}
