// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
)

const whyEncap = "the other end of a tunnel that a route of this machine leads into"

// encapEnd is LWTUNNEL_IP_DST, and LWTUNNEL_IP6_DST (linux/lwtunnel.h).
const encapEnd = nl.LWTUNNEL_IP6_DST

// encaps lists the far ends of tunnels that routes themselves name (ip-route(8), encap ip): the interface that such
// a route leads to has none. The library leaves them out of routes, so these are read once more where there may be
// any.
func (s *HostContext) encaps(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	links, err := s.kernel.links()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	if !slices.ContainsFunc(links, takesEnds) {
		return nil, nil
	}
	return netattr.Complete(ctx, func() (list []blocklist.ProtectedAddr, err error) {
		var bad error
		err = s.kernel.rawRoutes(func(b []byte) bool {
			found, err := parseEncap(b)
			for _, p := range found {
				if !slices.Contains(list, p) {
					list = append(list, p)
				}
			}
			if bad == nil {
				bad = err
			}
			return ctx.Err() == nil
		})
		if err == nil {
			err = bad
		}
		return list, err
	})
}

// takesEnds reports whether a tunnel may have a far end for each packet.
func takesEnds(l interfaces.Link) bool {
	return l.Tunnel() && !l.Remote.IsValid() && l.Kind != interfaces.KindTUN && l.Kind != interfaces.KindWireGuard
}

// rawRoutes visits the routes of all tables as the kernel has them, a struct rtmsg with its attributes.
func rawRoutes(visit func([]byte) bool) error {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		ask := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_DUMP)
		ask.AddData(&nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
		if err := ask.ExecuteIter(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE, visit); err != nil {
			return err
		}
	}
	return nil
}

// parseEncap returns the far ends that a route names.
func parseEncap(b []byte) (list []blocklist.ProtectedAddr, err error) {
	var one encap
	err = netattr.Visit(b, unix.SizeofRtMsg, func(a *mdnetlink.AttributeDecoder) {
		if a.Type() == unix.RTA_MULTIPATH {
			a.Do(func(hops []byte) error { return hopEncaps(&list, hops) })
		}
		one.read(a)
	})
	if err == nil {
		err = one.end(&list)
	}
	return list, err
}

// hopEncaps reads each struct rtnexthop (linux/rtnetlink.h) with its attributes.
func hopEncaps(to *[]blocklist.ProtectedAddr, hops []byte) error {
	for len(hops) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(hops))
		if length < unix.SizeofRtNexthop || length > len(hops) {
			return netattr.ErrFormat
		}
		var one encap
		if err := netattr.Visit(hops[:length], unix.SizeofRtNexthop, one.read); err != nil {
			return err
		}
		if err := one.end(to); err != nil {
			return err
		}
		hops = hops[min(len(hops), (length+3)&^3):]
	}
	return nil
}

// An encap is what the packets of a route are put into. Its type comes after it.
type encap struct {
	kind    uint16
	content []byte
}

func (e *encap) read(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case unix.RTA_ENCAP_TYPE:
		e.kind = nativeUint16(a.Bytes())
	case unix.RTA_ENCAP:
		e.content = a.Bytes()
	}
}

// nativeUint16 is 0, which is no type, where there is none.
func nativeUint16(raw []byte) uint16 {
	if len(raw) != 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(raw)
}

func (e *encap) end(to *[]blocklist.ProtectedAddr) error {
	if e.kind != nl.LWTUNNEL_ENCAP_IP && e.kind != nl.LWTUNNEL_ENCAP_IP6 {
		return nil
	}
	return netattr.Visit(e.content, 0, func(a *mdnetlink.AttributeDecoder) {
		if a.Type() == encapEnd {
			a.Do(func(ip []byte) error { return appendEnd(to, ip, whyEncap) })
		}
	})
}

// segments are the places that a route has its packets pass by (SRv6, RFC 8754).
func segments(r netlink.Route) []net.IP {
	if e, ok := r.Encap.(*netlink.SEG6Encap); ok {
		return e.Segments
	}
	return nil
}
