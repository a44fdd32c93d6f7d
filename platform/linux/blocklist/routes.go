// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
)

const gatewayWhy = "a default gateway of this machine"

// dumps bounds how often a list is asked for that changes while it
// is read.
const dumps = 3

// nextHopObject is RTA_NH_ID.
const nextHopObject = 30

// errNextHop says that a route leads to a nexthop object and the kernel does
// not tell where that is (the sysctl net.ipv4.nexthop_compat_mode).
var errNextHop = errors.New("the gateway of a default route stands elsewhere")

// routed reads the routes of all tables: which of them is used is for rules to
// decide, and those can change. A router with the table of the whole Internet has a million;
// none is kept.
func routed(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	list, err := dumped(ctx, unix.RTM_GETROUTE, &nl.RtMsg{}, parseRoute)
	if !errors.Is(err, errNextHop) {
		return list, err
	}
	hops, err := dumped(ctx, unix.RTM_GETNEXTHOP, nextHop{}, parseNextHop)
	return append(list, hops...), err
}

// dumped asks the kernel for a list and parses each answer.
func dumped[T any](ctx context.Context, what int, question nl.NetlinkRequestData, parse func([]byte) ([]T, error)) ([]T, error) {
	var err error
	for range dumps {
		var list []T
		var bad error
		ask := nl.NewNetlinkRequest(what, unix.NLM_F_DUMP)
		ask.AddData(question)
		err = ask.ExecuteIter(unix.NETLINK_ROUTE, 0, func(b []byte) bool {
			found, err := parse(b)
			list = append(list, found...)
			if bad == nil {
				bad = err
			}
			return ctx.Err() == nil
		})
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return list, cmp.Or(err, ctx.Err(), bad)
		}
	}
	return nil, err
}

// nextHop is an empty struct nhmsg of linux/nexthop.h, which asks for all.
type nextHop struct{}

// Len implements [nl.NetlinkRequestData].
func (nextHop) Len() int { return unix.SizeofNhmsg }

// Serialize implements [nl.NetlinkRequestData].
func (nextHop) Serialize() []byte { return make([]byte, unix.SizeofNhmsg) }

// parseNextHop parses one nexthop object. Those that no default route leads to
// count as gateways too: there is no harm in it, and groups need not be followed.
func parseNextHop(b []byte) ([]blocklist.ProtectedAddr, error) {
	if len(b) < unix.SizeofNhmsg {
		return nil, errFormat
	}
	var list []blocklist.ProtectedAddr
	err := attributes(b[unix.SizeofNhmsg:], func(kind uint16, value []byte) error {
		if kind != unix.NHA_GATEWAY {
			return nil
		}
		return appendGateway(&list, unix.RTA_GATEWAY, value)
	})
	return list, err
}

// parseRoute parses a struct rtmsg with the attributes of linux/rtnetlink.h.
// Of interest are the addresses of the table local, where those of this machine and of
// broadcasts stand (another table may call the whole Internet local, for a transparent proxy),
// and where default routes lead. The halves of the default route, with which a VPN overrides
// it, count as one.
func parseRoute(b []byte) ([]blocklist.ProtectedAddr, error) {
	if len(b) < unix.SizeofRtMsg {
		return nil, errFormat
	}
	family, length, table, kind := b[0], int(b[1]), b[4], b[7]
	if family != unix.AF_INET && family != unix.AF_INET6 {
		return nil, nil
	}
	why, own := "", false
	switch {
	case kind == unix.RTN_UNICAST && length <= 1:
		return parseGateways(b[unix.SizeofRtMsg:])
	case table != unix.RT_TABLE_LOCAL:
		return nil, nil
	case kind == unix.RTN_LOCAL || kind == unix.RTN_ANYCAST:
		why, own = "an address of this machine", true
	case kind == unix.RTN_BROADCAST:
		why = "a broadcast address of a network of this machine"
	default:
		return nil, nil
	}
	prefix, err := parseDestination(b[unix.SizeofRtMsg:], length)
	if err != nil || !prefix.IsValid() {
		return nil, err
	}
	return []blocklist.ProtectedAddr{{Prefix: prefix, Why: why, Own: own}}, nil
}

func parseDestination(b []byte, length int) (netip.Prefix, error) {
	var prefix netip.Prefix
	err := attributes(b, func(kind uint16, value []byte) error {
		if kind != unix.RTA_DST {
			return nil
		}
		a, ok := netip.AddrFromSlice(value)
		if prefix = netip.PrefixFrom(a, length); !ok || !prefix.IsValid() {
			return errFormat
		}
		return nil
	})
	return prefix, err
}

// parseGateways returns where a default route leads. Without a gateway it leads
// into a tunnel or a line with one other end.
func parseGateways(b []byte) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	object := false
	err := attributes(b, func(kind uint16, value []byte) error {
		switch kind {
		case nextHopObject:
			object = true
		case unix.RTA_MULTIPATH:
			hops, err := parseHops(value)
			list = append(list, hops...)
			return err
		case unix.RTA_GATEWAY, unix.RTA_VIA:
			return appendGateway(&list, kind, value)
		}
		return nil
	})
	if err == nil && object && len(list) == 0 {
		err = errNextHop
	}
	return list, err
}

// parseHops walks struct rtnexthop: length, flags and weight, interface, and
// attributes again.
func parseHops(b []byte) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	for len(b) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(b))
		if length < unix.SizeofRtNexthop || length > len(b) {
			return list, errFormat
		}
		if err := attributes(b[unix.SizeofRtNexthop:length], func(kind uint16, value []byte) error {
			return appendGateway(&list, kind, value)
		}); err != nil {
			return list, err
		}
		b = b[min(len(b), (length+3)&^3):]
	}
	return list, nil
}

// appendGateway takes an address, or a struct rtvia, whose address may be of
// the other family.
func appendGateway(to *[]blocklist.ProtectedAddr, kind uint16, value []byte) error {
	switch {
	case kind == unix.RTA_VIA && len(value) > 2:
		value = value[2:]
	case kind != unix.RTA_GATEWAY:
		return nil
	}
	a, ok := netip.AddrFromSlice(value)
	if !ok {
		return errFormat
	}
	if !a.IsUnspecified() {
		*to = append(*to, vital(a, gatewayWhy))
	}
	return nil
}
