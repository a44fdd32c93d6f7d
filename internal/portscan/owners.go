// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/reach"
	"sentinel/internal/sanitize"
)

// ownersLimit bounds the search for the processes behind open ports.
const ownersLimit = 3 * time.Second

type listeners struct {
	list   []Listener
	denied bool
}

// findOwners adds which process listens at each open port of this machine, at which address, and
// whether other hosts reach it.
func (r *Report) findOwners(ctx context.Context, s Sources) {
	ports := make([]uint16, 0, len(r.Ports))
	for _, p := range r.Ports {
		ports = append(ports, uint16(p.Port))
	}
	if len(ports) == 0 {
		return
	}
	ports = slices.Compact(ports)
	found, err := deadline.Call(ctx, ownersLimit, func(ctx context.Context) (listeners, error) {
		list, denied, err := s.Machine.Listeners(ctx, ports)
		return listeners{list, denied}, err
	})
	unknown := false
	var exposed []exposedPort
	for i := range r.Ports {
		p := &r.Ports[i]
		if l, ok := listenerAt(found.list, netip.MustParseAddr(p.Address), uint16(p.Port)); ok {
			p.listens(l)
			if *p.Exposed {
				exposed = append(exposed, exposedPort{p, l})
			}
		}
		unknown = unknown || p.PID == 0
	}
	switch {
	case err != nil:
		r.Unavailable.Add("ports.pid", err)
	case unknown && found.denied:
		r.Unavailable.Note("ports.pid", "processes of other users are not readable without root (on Linux CAP_SYS_PTRACE)")
	case unknown:
		r.Unavailable.Note("ports.pid", "no process of this machine listens at some of the ports: the kernel or a firewall rule answers there")
	}
	if len(exposed) > 0 && s.Reach != nil {
		r.judge(s.Reach(ctx), exposed)
	}
}

func (p *Port) listens(l Listener) {
	p.PID, p.ProcessName = l.PID, sanitize.Text(l.Name, 64)
	p.Bind, p.Exposed = sanitize.Text(l.Address.Addr().String(), 64), &l.Exposed
}

// An exposedPort is a row with the listener that it is about.
type exposedPort struct {
	row      *Port
	listener Listener
}

func (r *Report) judge(judge reach.Judge, ports []exposedPort) {
	why := ""
	for _, p := range ports {
		v := judge("tcp", p.listener.Address, p.listener.Name)
		p.row.Reach, p.row.ReachLimited = v.Answer, v.Limited
		if v.Answer == reach.Unknown && why == "" {
			why = v.Why
			r.Unavailable.Note("ports.reach", why)
		}
	}
}

// listenerAt finds the listener that accepts connections to a port of an address:
// one at this very address before one at all of them. A listener at all IPv6 addresses
// usually takes IPv4 as well (ipv6(7), IPV6_V6ONLY).
func listenerAt(list []Listener, a netip.Addr, port uint16) (best Listener, ok bool) {
	rank := 0
	for _, l := range list {
		at := l.Address.Addr()
		points := 0
		switch {
		case l.Address.Port() != port:
		case at.WithZone("") == a:
			points = 3
		case at.IsUnspecified() && at.Is4() == a.Is4():
			points = 2
		case at.IsUnspecified() && a.Is4():
			points = 1
		}
		if points > rank {
			best, rank = l, points
		}
	}
	return best, rank > 0
}
