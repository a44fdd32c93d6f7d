// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"net"
	"net/netip"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/netattr"
	"sentinel/platform/linux/tunnels"
)

// errNextHop says that a route leads to a nexthop object and the kernel does
// not tell where that is (the sysctl net.ipv4.nexthop_compat_mode).
var errNextHop = errors.New("the gateway of a route is in a nexthop object")

// routes reads the routes of all tables: which of them is used is for rules to
// decide, and those can change. A router with the table of the whole Internet has a million,
// and few gateways; no route is kept.
func (s *HostContext) routes(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	list, err := netattr.Complete(ctx, func() (list []blocklist.ProtectedAddr, err error) {
		seen := map[blocklist.ProtectedAddr]bool{}
		var errs []error
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			var bad error
			err := s.kernel.routes(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE, func(r netlink.Route) bool {
				found, err := protectRoute(r)
				for _, p := range found {
					if !seen[p] {
						seen[p], list = true, append(list, p)
					}
				}
				if bad == nil {
					bad = err
				}
				return ctx.Err() == nil
			})
			errs = append(errs, err, bad)
		}
		return list, errors.Join(errs...)
	})
	if !errors.Is(err, errNextHop) {
		return list, err
	}
	hops, err := s.nextHops(ctx)
	return append(list, hops...), err
}

// protectRoute returns what a route says about addresses to protect: those of
// the table local, where this machine's own and broadcast addresses are (another table may
// call the whole Internet local, for a transparent proxy), and where routes lead: what is the
// whole Internet to this machine may be written in any number of them, such as 2000::/3.
func protectRoute(r netlink.Route) ([]blocklist.ProtectedAddr, error) {
	destination, err := prefix(r.Dst)
	switch {
	case err != nil:
		return nil, err
	case r.Type == unix.RTN_UNICAST:
		return gateways(r)
	case r.Table != unix.RT_TABLE_LOCAL || destination.Bits() == 0:
		return nil, nil
	case r.Type == unix.RTN_LOCAL || r.Type == unix.RTN_ANYCAST:
		return []blocklist.ProtectedAddr{{Prefix: destination, Why: blocklist.WhyOwn, Own: true}}, nil
	case r.Type == unix.RTN_BROADCAST:
		return []blocklist.ProtectedAddr{{Prefix: destination, Why: blocklist.WhyBroadcast}}, nil
	default:
		return nil, nil
	}
}

// prefix reads a destination. The library writes that of a default route of IPv4
// in 16 bytes, and leaves out a mask that is longer than the address.
func prefix(n *net.IPNet) (netip.Prefix, error) {
	if n == nil {
		return netip.Prefix{}, netattr.ErrFormat
	}
	a, ok := netip.AddrFromSlice(n.IP)
	length, bits := n.Mask.Size()
	if bits == 32 {
		a = a.Unmap()
	}
	if !ok || bits != a.BitLen() {
		return netip.Prefix{}, netattr.ErrFormat
	}
	return netip.PrefixFrom(a, length), nil
}

// gateways returns where a route leads. Without a gateway it leads into a
// tunnel or a line with one other end; without an interface too, to a nexthop object, which
// the library does not read (RTA_NH_ID).
func gateways(r netlink.Route) ([]blocklist.ProtectedAddr, error) {
	hops, err := tunnels.Hops(r)
	var list []blocklist.ProtectedAddr
	for _, hop := range hops {
		if hop.Address.IsValid() && !hop.Address.IsUnspecified() {
			list = append(list, blocklist.Protect(hop.Address, blocklist.WhyGateway))
		}
	}
	if err == nil && len(hops) == 0 {
		err = errNextHop
	}
	return list, err
}

func appendGateway(to *[]blocklist.ProtectedAddr, ip []byte) error {
	return appendEnd(to, ip, blocklist.WhyGateway)
}

// appendEnd takes an address that a route leads to. None, and the unspecified one, stand for no host.
func appendEnd(to *[]blocklist.ProtectedAddr, ip []byte, why string) error {
	if len(ip) == 0 {
		return nil
	}
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netattr.ErrFormat
	}
	if !a.IsUnspecified() {
		*to = append(*to, blocklist.Protect(a, why))
	}
	return nil
}

// nextHops lists the gateways of all nexthop objects. Those that no route
// leads to count as well: there is no harm in it, and groups need not be followed.
func (s *HostContext) nextHops(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	return netattr.Complete(ctx, func() (list []blocklist.ProtectedAddr, err error) {
		messages, err := s.kernel.nextHops()
		for _, m := range messages {
			found, bad := parseNextHop(m)
			list, err = append(list, found...), errors.Join(err, bad)
		}
		return list, err
	})
}

// parseNextHop parses a struct nhmsg with its attributes.
func parseNextHop(b []byte) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	var put way
	err := netattr.Visit(b, unix.SizeofNhmsg, func(a *mdnetlink.AttributeDecoder) {
		switch a.Type() {
		case unix.NHA_GATEWAY:
			a.Do(func(ip []byte) error { return appendGateway(&list, ip) })
		case unix.NHA_ENCAP_TYPE:
			put.kind = nativeUint16(a.Bytes())
		case unix.NHA_ENCAP:
			put.content = a.Bytes()
		}
	})
	if err == nil {
		err = put.end()
	}
	return append(list, put.ends...), err
}
