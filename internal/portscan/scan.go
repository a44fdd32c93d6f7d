// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/reach"
	"sentinel/internal/sanitize"
	"sentinel/internal/target"
)

// Sources are what a scan works with.
type Sources struct {
	Resolver target.Resolver
	Machine  Machine
	Engine   Engine
	// Reach reads what the packet filter of this machine lets in; nil if nobody asks.
	Reach func(ctx context.Context) reach.Judge
	// RouteCheck returns the command with which a person looks up the route to an
	// address.
	RouteCheck func(address string) string
}

// A Request is what a caller asked for.
type Request struct {
	Target target.Host
	Ports  Ports
	Policy Policy
	Rows   int           // open ports to show one by one, 0 means all
	Brief  bool          // show no more of them than a program reads
	Limit  time.Duration // of the whole scan; 0 means TimeLimit
	// Progress is called with each percentage of ports that are done, in ascending
	// order; may be nil.
	Progress func(percent int)
}

// Scan resolves the target, checks the policy, and reports the state of the ports.
// A scan that ran out of time or of system resources answers with what it has; one
// that found out nothing is an error.
func Scan(ctx context.Context, s Sources, r Request) (Report, error) {
	start := time.Now()
	limit := r.Limit
	if limit == 0 {
		limit = TimeLimit
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	to, err := resolveTarget(limited, s, r)
	if err != nil {
		return Report{}, contextError(ctx, err)
	}
	found, err := scanAll(limited, s, r, &to)
	if ctx.Err() != nil {
		return Report{}, ctx.Err()
	}
	if err != nil {
		return Report{}, err
	}
	report := newReport(to, r, s.Engine.Name(), found, time.Since(start))
	for _, f := range found {
		report.explain(f, r.Ports.Count())
	}
	shown := report.list(found, r.Rows)
	if to.local {
		report.findOwners(ctx, s)
	}
	report.fit(shown, r)
	return report, nil
}

// A finding is what became of the scan of one address.
type finding struct {
	address netip.Addr
	result  Result
	err     error // why some ports have no state
}

// scanAll scans one address after the other, and leaves time for each. Its error is that of the
// first one when none could be scanned at all. A family without a route is one that was not scanned.
func scanAll(ctx context.Context, s Sources, r Request, to *resolvedTarget) ([]finding, error) {
	ports := r.Ports.List()
	tell := progress(r.Progress, len(ports)*len(to.addresses))
	var found []finding
	var failures []error
	for i, a := range to.addresses {
		f := scanOne(ctx, s, Job{Address: a, Ports: ports, Local: to.local, Progress: func(done int) { tell(i*len(ports) + done) }}, len(to.addresses)-i)
		if err := f.failure(s.RouteCheck); err != nil {
			failures = append(failures, err)
		}
		found = append(found, f)
	}
	if len(failures) == len(found) {
		return nil, failures[0]
	}
	return slices.DeleteFunc(found, func(f finding) bool {
		apart := f.result.Known() == 0 && errors.Is(f.err, ErrNoRoute)
		if apart {
			to.others = append(to.others, f.address)
		}
		return apart
	}), nil
}

// scanOne scans the first of left addresses, in its share of the time.
func scanOne(ctx context.Context, s Sources, job Job, left int) finding {
	if end, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	result, err := s.Engine.Scan(ctx, job)
	if err == nil && result.Known() < len(job.Ports) {
		err = errNoState
	}
	return finding{job.Address, result, err}
}

// errNoState is why ports have no state when the engine gave no error.
var errNoState = errors.New("the scanner did not tell")

// contextError returns the error of ctx when that has ended, else err.
func contextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A resolvedTarget is what is scanned: one address, or one of each family.
type resolvedTarget struct {
	target    string
	addresses []netip.Addr
	others    []netip.Addr
	local     bool
}

func resolveTarget(ctx context.Context, s Sources, r Request) (resolvedTarget, error) {
	networks, err := s.Machine.Networks(ctx)
	if err != nil && !r.Policy.Force {
		return resolvedTarget{}, fault.Wrap(fault.Unavailable, "The networks of this machine cannot be read, which decide what may be scanned", err)
	}
	addrs, err := resolve(ctx, s.Resolver, r.Target, networks)
	if err != nil {
		return resolvedTarget{}, err
	}
	check := policyCheck{r.Policy, networks}
	chosen, err := check.choose(r.Target.String(), addrs)
	if err != nil {
		return resolvedTarget{}, err
	}
	own := check.own(chosen[0])
	chosen = slices.DeleteFunc(chosen, func(a netip.Addr) bool { return check.own(a) != own })
	others := slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return slices.Contains(chosen, a) })
	return resolvedTarget{r.Target.String(), chosen, others, own}, nil
}

// resolve finds the addresses of the target. The name localhost is of both loopback addresses that
// this machine has, whatever its files say (RFC 6761, section 6.3).
func resolve(ctx context.Context, r target.Resolver, h target.Host, networks []netip.Prefix) ([]netip.Addr, error) {
	if name := strings.ToLower(strings.TrimSuffix(h.Name, ".")); name != "localhost" && !strings.HasSuffix(name, ".localhost") {
		return h.Resolve(ctx, r)
	}
	addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	if slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Addr() == netip.IPv6Loopback() }) {
		addrs = append(addrs, netip.IPv6Loopback())
	}
	return addrs, nil
}

// progress turns numbers of ports into percentages.
func progress(report func(int), total int) func(int) {
	if report == nil {
		return func(int) {}
	}
	reported := 0
	return func(done int) {
		if percent := 100 * done / max(1, total); percent > reported {
			reported = percent
			report(percent)
		}
	}
}

func newReport(to resolvedTarget, r Request, engine string, found []finding, took time.Duration) Report {
	report := Report{
		Target: to.target, Address: found[0].address.String(), Local: to.local, PortRange: shorten(r.Ports.String()), Engine: engine,
		Ports: []Port{}, OpenRanges: []string{}, PortsTotal: r.Ports.Count() * len(found),
		ScanTimeMS: strconv.FormatInt(took.Milliseconds(), 10), Unavailable: answer.Gaps{},
	}
	for _, other := range to.others {
		report.OtherAddresses = append(report.OtherAddresses, other.String())
	}
	for _, f := range found {
		a := f.counts(to.local)
		report.Addresses = append(report.Addresses, a)
		report.OpenCount += a.OpenCount
		report.ClosedCount += a.ClosedCount
		report.FilteredCount += a.FilteredCount
		if a.Host == HostUp || report.Host == "" {
			report.Host = a.Host
		}
	}
	report.Scanned = report.OpenCount + report.ClosedCount + report.FilteredCount
	report.Complete = report.Scanned == report.PortsTotal
	return report
}

// counts is what is known of the address. This machine is up; its own firewall can be silent at all
// ports.
func (f finding) counts(local bool) Address {
	a := Address{Address: f.address.String()}
	switch {
	case local || f.result.answered():
		a.Host, a.OpenCount, a.ClosedCount, a.FilteredCount = HostUp, len(f.result.Open), f.result.Closed, f.result.Filtered
	case f.result.Known() > 0:
		a.Host = HostNoAnswer
	}
	return a
}

// An openPort is an open port of one address.
type openPort struct {
	port    uint16
	address netip.Addr
}

// list makes the rows of the first open ports, at most rows of them unless that is 0, and returns
// all.
func (r *Report) list(found []finding, rows int) []openPort {
	var all []openPort
	for _, f := range found {
		for _, p := range f.result.Open {
			all = append(all, openPort{p, f.address})
		}
	}
	slices.SortStableFunc(all, func(a, b openPort) int { return cmp.Compare(a.port, b.port) })
	shown := all
	if rows > 0 {
		shown = shown[:min(len(shown), rows)]
	}
	for _, o := range shown {
		r.Ports = append(r.Ports, Port{Port: int(o.port), State: "open", Service: service(o.port), Protocol: "tcp", Address: o.address.String()})
	}
	return all
}

// shorten cuts a list of ports that is longer than anybody reads.
func shorten(ports string) string { return sanitize.Text(ports, 200) }

// fit leaves out the rows that an answer has no room for, unless all were
// asked for, and lists the ports without a row as ranges.
func (r *Report) fit(open []openPort, asked Request) {
	size, most := maxRowBytes, maxRanges
	if asked.Brief {
		size, most = briefRowBytes, briefRanges
	}
	if asked.Rows > 0 {
		r.Ports = r.Ports[:rowsThatFit(r.Ports, size)]
	}
	var rest []uint16
	for _, o := range open[len(r.Ports):] {
		if len(rest) == 0 || rest[len(rest)-1] != o.port {
			rest = append(rest, o.port)
		}
	}
	ranges := SetOf(rest)
	r.Truncated = len(ranges) > 0
	for _, p := range ranges[:min(len(ranges), most)] {
		r.OpenRanges = append(r.OpenRanges, p.String())
	}
	if len(ranges) > most {
		r.Unavailable.Note("open_ranges", fmt.Sprintf("%d more ranges are left out", len(ranges)-most))
	}
}

// rowsThatFit returns how many rows there is room for in so many bytes.
func rowsThatFit(ports []Port, most int) int {
	size := 0
	for i, p := range ports {
		raw, _ := json.Marshal(p) //nolint:errcheck // numbers and texts alone
		if size += len(raw) + 1; size > most {
			return i
		}
	}
	return len(ports)
}

// failure is the error of a scan that found out nothing, nil for any other.
func (f finding) failure(routeCheck func(string) string) error {
	var known *fault.Error
	switch {
	case f.err == nil:
		return nil
	case errors.As(f.err, &known):
		return f.err
	case f.result.Known() > 0:
		return nil
	case errors.Is(f.err, ErrNoRoute):
		return fault.New(fault.Unavailable, "This machine knows no route to "+f.address.String()+".").
			WithFix("Check the address, and the network of this machine with: " + routeCheck(f.address.String()))
	case !errors.Is(f.err, context.DeadlineExceeded):
		return fault.Wrap(fault.Unavailable, "The scan of "+f.address.String()+" could not be carried out", f.err).
			WithFix("Check the network of this machine and how many files a process may open (ulimit -n), then try again.")
	default:
		return nil
	}
}

// explain says why ports of an address have no state.
func (r *Report) explain(f finding, total int) {
	where := ""
	if len(r.Addresses) > 1 {
		where = " of " + f.address.String()
	}
	reason := ""
	switch {
	case errors.Is(f.err, context.DeadlineExceeded):
		reason = "the time limit was reached; ask for fewer ports at a time"
	case f.err != nil:
		reason = answer.Reason(f.err)
	}
	if left := total - f.result.Known(); left > 0 {
		r.Unavailable.Note("ports", fmt.Sprintf("%d of %d ports%s have no known state: %s", left, total, where, reason))
	}
	if f.counts(r.Local).Host == HostNoAnswer {
		r.Unavailable.Note("ports", fmt.Sprintf("nothing answered at %s: the host is down, or a firewall drops everything", f.address))
	}
}
