// SPDX-License-Identifier: Apache-2.0

// Package traceroute finds the routers on the way to a host. Their names and
// addresses are chosen by others, and are untrusted text.
package traceroute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/progress"
	"sentinel/internal/target"
)

const (
	// MaxHops is how far a route is followed.
	MaxHops = 30
	// Probes is how many packets each hop gets.
	Probes = 3
)

const (
	// hopsAtOnce is how many hops are probed at a time. More would save little, and
	// every packet that goes further than the last router reaches the target, which limits
	// its answers (Linux sends six ICMP errors to one address at once and then one a second,
	// icmp(7)).
	hopsAtOnce = 3
	probeLimit = 1200 * time.Millisecond // for one answer
	traceLimit = 17 * time.Second        // for a Tracer, which leaves time for the names
	routeLimit = 20 * time.Second        // for the whole
	namesLimit = 2 * time.Second         // for the names of all hops
)

// A Hop is a router on the way, or the target itself.
type Hop struct {
	Hop         int       `json:"hop"`            // number of routers up to here, this one included
	Addresses   []string  `json:"addresses"`      // that answered; several where the route is not always the same
	Name        string    `json:"name,omitempty"` // that the first address has in the DNS, chosen by its owner
	Sent        int       `json:"sent"`           // packets sent for this hop
	LossPercent int       `json:"loss_percent"`   // of the packets that were sent
	LatencyMS   []float64 `json:"latency_ms"`     // of each answer
	// Note says why the route ends here and not at the target.
	Note string `json:"note,omitempty"`
}

// A Route answers traceroute.
type Route struct {
	Target      string      `json:"target"`              // as it was asked for
	Address     string      `json:"address"`             // that was followed
	Protocol    string      `json:"protocol" enum:"udp"` // of the packets that are sent
	Reached     bool        `json:"reached"`             // the target answered
	Hops        []Hop       `json:"hops"`                // up to the last one that answered
	HopsTotal   int         `json:"hops_total"`          // before the list was cut
	MaxHops     int         `json:"max_hops"`            // after which it gives up
	TimeMS      int64       `json:"time_ms"`             // how long it took, in milliseconds
	Unavailable answer.Gaps `json:"unavailable"`         // what could not be found out, and why
}

// A Response is what came back for one packet: an ICMP error, or a reply of the
// target.
type Response struct {
	From     netip.Addr // who answered; invalid when nobody did
	RTT      time.Duration
	Reached  bool   // the packet came as far as the target
	Rejected string // why From did not forward the packet; empty when it had only run out of hops
}

// ErrNoRoute says that this machine has no route to an address.
var ErrNoRoute = errors.New("no route to the address")

// A Prober sends one packet for each of the given numbers of hops, all at once,
// and returns one Response for each, in the same order, when all were answered or wait is
// over. It fails when the packets cannot be sent.
type Prober interface {
	Probe(ctx context.Context, to netip.Addr, hops []int, wait time.Duration) ([]Response, error)
}

// A Tracer finds a whole route itself, as traceroute(8) does: it sends a number of
// probes to each hop, one hop after the other, until one reaches the target or the
// hops run out. It returns the responses of each hop, hop 1 first, one for each
// packet; with an error, those that came before it. The error is that of ctx when
// time ran out, and wraps ErrNoRoute if there is no route.
type Tracer interface {
	Trace(ctx context.Context, to netip.Addr, hops, probes int) ([][]Response, error)
}

// A Namer finds the names of an address; *[net.Resolver] is one.
type Namer interface {
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// Sources are what a route is found with.
type Sources struct {
	Resolver target.Resolver
	Prober   Prober
	Tracer   Tracer // used in place of Prober where it is set
	Names    Namer  // nil shows no names
	// RouteCheck says how a person looks for the route to an address.
	RouteCheck func(address string) string
}

// Trace finds the route to a host. When time runs out, it answers with what it has.
func Trace(ctx context.Context, s Sources, to target.Host) (Route, error) {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, routeLimit)
	defer cancel()
	progress.Say(ctx, 0, "looking up the address")
	addrs, err := to.Resolve(limited, s.Resolver)
	if err != nil {
		return Route{}, err
	}
	t := trace{to: addrs[0], prober: s.Prober, checked: MaxHops}
	if s.Tracer != nil {
		err = t.runTracer(limited, s.Tracer)
	} else {
		err = t.probeRoute(limited)
	}
	if ctx.Err() != nil {
		return Route{}, ctx.Err()
	}
	if err != nil && len(t.hops) == 0 {
		return Route{}, s.sendFault(addrs[0], err)
	}
	route := t.route()
	route.Target = to.String()
	route.Unavailable.Add("hops", err)
	progress.Say(ctx, 95, "looking up the names of the routers")
	addNames(limited, s.Names, route.Hops)
	route.TimeMS = time.Since(start).Milliseconds()
	return route, nil
}

func (s Sources) sendFault(to netip.Addr, err error) error {
	if errors.Is(err, ErrNoRoute) {
		return fault.New(fault.Unavailable, "This machine knows no route to "+to.String()+".").
			WithFix("Check the address, and the network of this machine with: " + s.RouteCheck(to.String()))
	}
	return fault.Wrap(fault.Unavailable, "No packet could be sent to "+to.String(), err).
		WithFix("Check the network and the firewall of this machine: packets over UDP to ports from 33434 on have to leave it.")
}

// A trace is a route that is being found.
type trace struct {
	to      netip.Addr
	prober  Prober
	checked int            // how many hops were probed
	hops    []hopResponses // the first is hop 1
}

// hopResponses are what came back for the packets to one hop.
type hopResponses struct {
	sent      int
	responses []Response
}

// probeRoute sends one packet to each hop until the target answers, and then the
// others to all hops at once.
func (t *trace) probeRoute(ctx context.Context) error {
	for len(t.hops) < MaxHops && !t.reachedEnd() {
		from := len(t.hops) + 1
		progress.Say(ctx, 60*from/MaxHops, fmt.Sprintf("asking hops %d to %d", from, min(from+hopsAtOnce-1, MaxHops)))
		if err := t.probeHops(ctx, from, min(from+hopsAtOnce-1, MaxHops)); err != nil {
			return err
		}
	}
	t.dropSilentTail()
	for round := range Probes - 1 {
		if len(t.hops) == 0 {
			break
		}
		progress.Say(ctx, 60+15*round, fmt.Sprintf("packet %d of %d to each of %s", round+2, Probes, humanize.Count(len(t.hops), "hop", "hops")))
		if err := t.probeHops(ctx, 1, len(t.hops)); err != nil {
			return err
		}
	}
	return nil
}

// runTracer lets a Tracer find the route.
func (t *trace) runTracer(ctx context.Context, tracer Tracer) error {
	ctx, cancel := context.WithTimeout(ctx, traceLimit)
	defer cancel()
	progress.Say(ctx, 10, fmt.Sprintf("asking one hop after the other, at most %d", MaxHops))
	list, err := tracer.Trace(ctx, t.to, MaxHops, Probes)
	for _, responses := range list[:min(len(list), MaxHops)] {
		h := hopResponses{sent: len(responses)}
		for _, e := range responses {
			if e.From.IsValid() {
				h.responses = append(h.responses, e)
			}
		}
		t.hops = append(t.hops, h)
	}
	t.checked = len(t.hops)
	t.dropSilentTail()
	return err
}

// probeHops sends one packet to each of the hops from, from+1 ... to.
func (t *trace) probeHops(ctx context.Context, from, to int) error {
	var hops []int
	for h := from; h <= to; h++ {
		hops = append(hops, h)
	}
	responses, err := t.prober.Probe(ctx, t.to, hops, probeLimit)
	if err != nil {
		return err
	}
	for i, h := range hops {
		if len(t.hops) < h {
			t.hops = append(t.hops, hopResponses{})
		}
		at := &t.hops[h-1]
		at.sent++
		if i < len(responses) && responses[i].From.IsValid() {
			at.responses = append(at.responses, responses[i])
		}
	}
	return ctx.Err()
}

// reachedEnd says whether the target, or a router that rejects the packets, has
// answered. The hops beyond it are dropped.
func (t *trace) reachedEnd() bool {
	for i, h := range t.hops {
		if slices.ContainsFunc(h.responses, func(e Response) bool { return e.Reached || e.Rejected != "" }) {
			t.hops = t.hops[:i+1]
			return true
		}
	}
	return false
}

// dropSilentTail drops the hops beyond the last one that answered.
func (t *trace) dropSilentTail() {
	for n := len(t.hops); n > 0 && len(t.hops[n-1].responses) == 0; n-- {
		t.hops = t.hops[:n-1]
	}
}

func (t *trace) route() Route {
	t.dropSilentTail()
	r := Route{Address: t.to.String(), Protocol: "udp", Hops: []Hop{}, MaxHops: MaxHops, Unavailable: answer.Gaps{}}
	for i, h := range t.hops {
		r.Hops = append(r.Hops, h.hop(i+1))
		r.Reached = r.Reached || slices.ContainsFunc(h.responses, func(e Response) bool { return e.Reached })
	}
	r.HopsTotal = len(r.Hops)
	if !r.Reached {
		r.Unavailable.Note("reached", fmt.Sprintf("nothing answered beyond hop %d of %d that were looked at; the target or a firewall may not answer UDP", len(t.hops), t.checked))
	}
	return r
}

func (h hopResponses) hop(n int) Hop {
	hop := Hop{Hop: n, Addresses: []string{}, Sent: h.sent, LatencyMS: []float64{}}
	for _, e := range h.responses {
		if a := e.From.String(); !slices.Contains(hop.Addresses, a) {
			hop.Addresses = append(hop.Addresses, a)
		}
		hop.LatencyMS = append(hop.LatencyMS, float64(e.RTT.Microseconds())/1000)
		if e.Rejected != "" {
			hop.Note = e.Rejected
		}
	}
	if h.sent > 0 {
		hop.LossPercent = 100 * (h.sent - len(h.responses)) / h.sent
	}
	return hop
}
