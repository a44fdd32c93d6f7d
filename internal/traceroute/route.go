// SPDX-License-Identifier: Apache-2.0

// Package traceroute finds the routers that lead to a host. Their names and
// addresses were chosen by somebody else, and are hostile text.
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
	"sentinel/internal/target"
)

const (
	// MaxHops is how far a route is followed.
	MaxHops = 30
	// Probes is how many packets each hop gets.
	Probes = 3
)

const (
	// atOnce is how many hops are looked for at a time. More would save little,
	// and the packets that run past them all hit the target, which answers only so many (Linux
	// sends six ICMP errors to one address at once and then one a second, icmp(7)).
	atOnce     = 3
	probeLimit = 1200 * time.Millisecond // for one answer
	traceLimit = 17 * time.Second        // for a tracer, which leaves time for the names
	routeLimit = 20 * time.Second        // for the whole
	namesLimit = 2 * time.Second         // for the names of all hops
)

// A Hop is a router on the way, or the target itself.
type Hop struct {
	Hop         int       `json:"hop"`            // number of routers up to here, this one included
	Addresses   []string  `json:"addresses"`      // that answered; several where the way is not always the same
	Name        string    `json:"name,omitempty"` // that the first address has in the DNS, chosen by its owner
	Sent        int       `json:"sent"`           // packets sent for this hop
	LossPercent int       `json:"loss_percent"`   // of the packets that were sent
	LatencyMS   []float64 `json:"latency_ms"`     // of each answer
	// Note says why the way ends here other than at the target.
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

// An Echo is what came back for one packet.
type Echo struct {
	From    netip.Addr // who answered; invalid when nobody did
	Took    time.Duration
	Reached bool   // the packet came as far as the target
	Ended   string // why it went no further than From; empty when it had only run out of hops
}

// ErrNoRoute says that this machine knows no way to an address.
var ErrNoRoute = errors.New("no route to the address")

// A Prober sends one packet for each of the given numbers of hops, all at once,
// and returns what came back for each, in the same order, when all were answered or wait is
// over. It is an error when the packets cannot be sent.
type Prober interface {
	Probe(ctx context.Context, to netip.Addr, hops []int, wait time.Duration) ([]Echo, error)
}

// A Tracer follows a whole way by itself, as traceroute(8) does: probes packets
// for each hop, one after the other, until one comes to the target or hops have been looked
// at. What comes back is listed by hop, the first of them hop 1, with one Echo for each
// packet; with an error, as far as it came. It is an error of ctx when time ran out, and
// wraps ErrNoRoute where there is no way.
type Tracer interface {
	Trace(ctx context.Context, to netip.Addr, hops, probes int) ([][]Echo, error)
}

// A Namer finds the names of an address; *[net.Resolver] is one.
type Namer interface {
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// Sources are where routes are followed.
type Sources struct {
	Resolver target.Resolver
	Prober   Prober
	Tracer   Tracer // does what Prober is for, where it is set
	Names    Namer  // nil shows no names
}

// Trace follows the way to a host: with one packet for each hop until the target
// answers, and then with the others for every hop at once. Out of time, it answers with what
// it has.
func Trace(ctx context.Context, w Sources, to target.Host) (Route, error) {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, routeLimit)
	defer cancel()
	addrs, err := to.Resolve(limited, w.Resolver)
	if err != nil {
		return Route{}, err
	}
	t := trace{to: addrs[0], prober: w.Prober, looked: MaxHops}
	if w.Tracer != nil {
		err = t.leave(limited, w.Tracer)
	} else {
		err = t.follow(limited)
	}
	if ctx.Err() != nil {
		return Route{}, ctx.Err()
	}
	if err != nil && len(t.hops) == 0 {
		return Route{}, unsent(addrs[0], err)
	}
	route := t.route()
	route.Target = to.String()
	route.Unavailable.Add("hops", err)
	name(limited, w.Names, route.Hops)
	route.TimeMS = time.Since(start).Milliseconds()
	return route, nil
}

func unsent(to netip.Addr, err error) error {
	if errors.Is(err, ErrNoRoute) {
		return fault.New(fault.Unavailable, "This machine knows no route to "+to.String()+".").
			WithFix("Check the address, and the network of this machine with: ip route get " + to.String() + " (on macOS: route -n get " + to.String() + ")")
	}
	return fault.Wrap(fault.Unavailable, "No packet could be sent to "+to.String(), err).
		WithFix("Check the network and the firewall of this machine: packets over UDP to ports from 33434 on have to leave it.")
}

// A trace is a route under way.
type trace struct {
	to     netip.Addr
	prober Prober
	looked int     // how many hops were looked at
	hops   []heard // the first is hop 1
}

// heard is what came back from one hop.
type heard struct {
	sent   int
	echoes []Echo
}

func (t *trace) follow(ctx context.Context) error {
	for len(t.hops) < MaxHops && !t.ended() {
		from := len(t.hops) + 1
		if err := t.ask(ctx, from, min(from+atOnce-1, MaxHops)); err != nil {
			return err
		}
	}
	t.trim()
	for range Probes - 1 {
		if len(t.hops) == 0 {
			break
		}
		if err := t.ask(ctx, 1, len(t.hops)); err != nil {
			return err
		}
	}
	return nil
}

// leave lets a tracer follow the way.
func (t *trace) leave(ctx context.Context, tracer Tracer) error {
	ctx, cancel := context.WithTimeout(ctx, traceLimit)
	defer cancel()
	list, err := tracer.Trace(ctx, t.to, MaxHops, Probes)
	for _, echoes := range list[:min(len(list), MaxHops)] {
		h := heard{sent: len(echoes)}
		for _, e := range echoes {
			if e.From.IsValid() {
				h.echoes = append(h.echoes, e)
			}
		}
		t.hops = append(t.hops, h)
	}
	t.looked = len(t.hops)
	t.trim()
	return err
}

// ask sends one packet to each hop of a span.
func (t *trace) ask(ctx context.Context, from, to int) error {
	var hops []int
	for h := from; h <= to; h++ {
		hops = append(hops, h)
	}
	echoes, err := t.prober.Probe(ctx, t.to, hops, probeLimit)
	if err != nil {
		return err
	}
	for i, h := range hops {
		if len(t.hops) < h {
			t.hops = append(t.hops, heard{})
		}
		at := &t.hops[h-1]
		at.sent++
		if i < len(echoes) && echoes[i].From.IsValid() {
			at.echoes = append(at.echoes, echoes[i])
		}
	}
	return ctx.Err()
}

// ended says that the way was followed to its end, and forgets what ran past it.
func (t *trace) ended() bool {
	for i, h := range t.hops {
		if slices.ContainsFunc(h.echoes, func(e Echo) bool { return e.Reached || e.Ended != "" }) {
			t.hops = t.hops[:i+1]
			return true
		}
	}
	return false
}

// trim forgets the hops beyond the last that answered.
func (t *trace) trim() {
	for n := len(t.hops); n > 0 && len(t.hops[n-1].echoes) == 0; n-- {
		t.hops = t.hops[:n-1]
	}
}

func (t *trace) route() Route {
	t.trim()
	r := Route{Address: t.to.String(), Protocol: "udp", Hops: []Hop{}, MaxHops: MaxHops, Unavailable: answer.Gaps{}}
	for i, h := range t.hops {
		r.Hops = append(r.Hops, h.hop(i+1))
		r.Reached = r.Reached || slices.ContainsFunc(h.echoes, func(e Echo) bool { return e.Reached })
	}
	r.HopsTotal = len(r.Hops)
	if !r.Reached {
		r.Unavailable.Note("reached", fmt.Sprintf("nothing answered beyond hop %d of %d that were looked at; the target or a firewall may not answer UDP", len(t.hops), t.looked))
	}
	return r
}

func (h heard) hop(n int) Hop {
	hop := Hop{Hop: n, Addresses: []string{}, Sent: h.sent, LatencyMS: []float64{}}
	for _, e := range h.echoes {
		if a := e.From.String(); !slices.Contains(hop.Addresses, a) {
			hop.Addresses = append(hop.Addresses, a)
		}
		hop.LatencyMS = append(hop.LatencyMS, float64(e.Took.Microseconds())/1000)
		if e.Ended != "" {
			hop.Note = e.Ended
		}
	}
	if h.sent > 0 {
		hop.LossPercent = 100 * (h.sent - len(h.echoes)) / h.sent
	}
	return hop
}
