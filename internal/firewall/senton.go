// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"
	"strings"
)

// SentOn is where rules send packets of other hosts that come to this one: to another host, or a container.
type SentOn struct {
	Family, Table, Chain string
	Target               netip.AddrPort // invalid if it is not known; port 0 is the one that they had, or not known
}

// String is such as "ip nat DOCKER to 172.17.0.2:6379".
func (s SentOn) String() string {
	place := s.Family + " " + s.Table + " " + s.Chain
	switch {
	case !s.Target.IsValid():
		return place
	case s.Target.Port() == 0:
		return place + " to " + s.Target.Addr().String()
	default:
		return place + " to " + s.Target.String()
	}
}

// SentOn lists what the rules send on before packets come to a socket of this host. What becomes of it in
// the chains of hook forward is not followed.
func (f Facts) SentOn() []SentOn {
	w := newWays(f)
	var all []SentOn
	for _, t := range w.tables {
		for _, base := range t.bases {
			if base.Hook == Translation {
				all = append(all, w.sentOn(t, base)...)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s SentOn) bool { return s.Target.IsValid() && w.here(s.Target.Addr()) })
	slices.SortFunc(all, func(a, b SentOn) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

func (w *ways) sentOn(t *ruleTable, base *Chain) (all []SentOn) {
	for _, p := range append(w.packets("tcp", anywhere, false), w.packets("tcp", anywhere, true)...) {
		for _, p.Protocol = range []string{"tcp", "udp"} {
			if p.AnyPort = true; sees(base, p) {
				all = append(all, t.walk(base, p).sent...)
			}
		}
	}
	return all
}

var anywhere = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
