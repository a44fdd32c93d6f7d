// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/netattr"
	"sentinel/platform/linux/tunnels"
)

const whyEncap = "the other end of a tunnel that a route of this machine leads into"

// encapEnd is LWTUNNEL_IP_DST, and LWTUNNEL_IP6_DST (linux/lwtunnel.h).
const encapEnd = nl.LWTUNNEL_IP6_DST

// encaps lists the far ends of tunnels that routes themselves name (ip-route(8), encap ip): the interface that such
// a route leads to has none. The places that a route has its packets pass by (SRv6, RFC 8754) are gateways. The library
// leaves out most of these, so routes are read once more as they are.
func (s *HostContext) encaps(ctx context.Context) (list []blocklist.ProtectedAddr, err error) {
	seen := map[blocklist.ProtectedAddr]bool{}
	err = s.ways(ctx, func(w way) {
		for _, p := range w.ends {
			if !seen[p] {
				seen[p], list = true, append(list, p)
			}
		}
	})
	return list, err
}

// ways visits where each route leads.
func (s *HostContext) ways(ctx context.Context, visit func(way)) error {
	_, err := netattr.Complete(ctx, func() ([]way, error) {
		var bad error
		err := s.kernel.rawRoutes(func(b []byte) bool {
			found, err := parseWays(b)
			for _, w := range found {
				visit(w)
			}
			if bad == nil {
				bad = err
			}
			return ctx.Err() == nil
		})
		if err == nil {
			err = bad
		}
		return nil, err
	})
	return err
}

// routesName reports whether all routes to the rest of the world that lead into a tunnel name its far end.
func (s *HostContext) routesName(ctx context.Context, name string) bool {
	links, err := s.kernel.links()
	at := slices.IndexFunc(links, func(l interfaces.Link) bool { return l.Name == name && takesEnds(l) })
	if err != nil || at < 0 {
		return false
	}
	met, all := false, true
	err = s.ways(ctx, func(w way) {
		if w.wide && w.link == links[at].Index {
			met, all = true, all && w.kind != nl.LWTUNNEL_ENCAP_SEG6 && len(w.ends) > 0
		}
	})
	return err == nil && met && all
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

// A way is one hop of a route, with what its packets are put into. The type of that comes after it.
type way struct {
	kind    uint16
	content []byte
	link    int
	wide    bool                      // it leads to the rest of the world
	ends    []blocklist.ProtectedAddr // that it names
}

// parseWays returns those of a route, a struct rtmsg with its attributes.
func parseWays(b []byte) (list []way, err error) {
	if len(b) < unix.SizeofRtMsg {
		return nil, netattr.ErrFormat
	}
	one := way{wide: b[1] <= tunnels.Widest && b[7] == unix.RTN_UNICAST}
	err = netattr.Visit(b, unix.SizeofRtMsg, func(a *mdnetlink.AttributeDecoder) {
		if a.Type() == unix.RTA_MULTIPATH {
			a.Do(func(hops []byte) (err error) { list, err = parseHops(hops, one.wide); return err })
		}
		one.read(a)
	})
	if err == nil {
		err = one.end()
	}
	return append(list, one), err
}

// parseHops reads each struct rtnexthop (linux/rtnetlink.h) with its attributes.
func parseHops(hops []byte, wide bool) (list []way, err error) {
	for err == nil && len(hops) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(hops))
		if length < unix.SizeofRtNexthop || length > len(hops) {
			return nil, netattr.ErrFormat
		}
		hop := way{wide: wide, link: int(binary.NativeEndian.Uint32(hops[4:]))}
		if err = netattr.Visit(hops[:length], unix.SizeofRtNexthop, hop.read); err == nil {
			err = hop.end()
		}
		list = append(list, hop)
		hops = hops[min(len(hops), (length+3)&^3):]
	}
	return list, err
}

func (w *way) read(a *mdnetlink.AttributeDecoder) {
	switch a.Type() {
	case unix.RTA_OIF:
		a.ByteOrder = binary.NativeEndian
		w.link = int(a.Uint32())
	case unix.RTA_ENCAP_TYPE:
		w.kind = nativeUint16(a.Bytes())
	case unix.RTA_ENCAP:
		w.content = a.Bytes()
	}
}

// nativeUint16 is 0, which is no type, where there is none.
func nativeUint16(raw []byte) uint16 {
	if len(raw) != 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(raw)
}

// end adds what the content names, by its type.
func (w *way) end() error {
	wanted, add := encapEnd, func(ip []byte) error { return appendEnd(&w.ends, ip, whyEncap) }
	switch w.kind {
	case nl.LWTUNNEL_ENCAP_IP, nl.LWTUNNEL_ENCAP_IP6:
	case nl.LWTUNNEL_ENCAP_SEG6:
		wanted, add = nl.SEG6_IPTUNNEL_SRH, w.segments
	default:
		return nil
	}
	return netattr.Visit(w.content, 0, func(a *mdnetlink.AttributeDecoder) {
		if int(a.Type()) == wanted {
			a.Do(add)
		}
	})
}

// segmentsAt is where they begin in a struct seg6_iptunnel_encap (linux/seg6_iptunnel.h): the library panics before.
const segmentsAt = 12

func (w *way) segments(raw []byte) error {
	if len(raw) < segmentsAt {
		return netattr.ErrFormat
	}
	_, list, err := nl.DecodeSEG6Encap(raw)
	for _, ip := range list {
		err = errors.Join(err, appendGateway(&w.ends, ip))
	}
	return err
}
