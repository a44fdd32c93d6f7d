// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/target"
)

// Sources are what a scan works with.
type Sources struct {
	Resolver target.Resolver
	Machine  Machine
	Engine   Engine
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
	ports := r.Ports.List()
	result, err := s.Engine.Scan(limited, Job{Address: to.address, Ports: ports, Local: to.local, Progress: progress(r.Progress, len(ports))})
	if ctx.Err() != nil {
		return Report{}, ctx.Err()
	}
	report := newReport(to, r, s.Engine.Name(), result, time.Since(start))
	if err == nil && !report.Complete {
		err = errNoState
	}
	if err != nil {
		if err := report.incomplete(err, s.RouteCheck); err != nil {
			return Report{}, err
		}
	}
	if to.local {
		report.findOwners(ctx, s.Machine, to.address)
	}
	report.fit(result.Open, r.Rows)
	return report, nil
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

// A resolvedTarget is the one address that is scanned.
type resolvedTarget struct {
	target  string
	address netip.Addr
	others  []netip.Addr
	local   bool
}

func resolveTarget(ctx context.Context, s Sources, r Request) (resolvedTarget, error) {
	networks, err := s.Machine.Networks(ctx)
	if err != nil && !r.Policy.Force {
		return resolvedTarget{}, fault.Wrap(fault.Unavailable, "The networks of this machine cannot be read, which decide what may be scanned", err)
	}
	addrs, err := r.Target.Resolve(ctx, s.Resolver)
	if err != nil {
		return resolvedTarget{}, err
	}
	check := policyCheck{r.Policy, networks}
	address, err := check.choose(r.Target.String(), addrs)
	if err != nil {
		return resolvedTarget{}, err
	}
	others := slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return a == address })
	return resolvedTarget{r.Target.String(), address, others, check.own(address)}, nil
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

func newReport(a resolvedTarget, r Request, engine string, result Result, took time.Duration) Report {
	report := Report{
		Target: a.target, Address: a.address.String(), Local: a.local, PortRange: shorten(r.Ports.String()), Engine: engine,
		Ports: []Port{}, OpenRanges: []string{}, OpenCount: len(result.Open),
		ClosedCount: result.Closed, FilteredCount: result.Filtered, Scanned: result.Known(), PortsTotal: r.Ports.Count(),
		ScanTimeMS: strconv.FormatInt(took.Milliseconds(), 10), Unavailable: answer.Gaps{},
	}
	for _, other := range a.others {
		report.OtherAddresses = append(report.OtherAddresses, other.String())
	}
	report.Complete = report.Scanned == report.PortsTotal
	shown := result.Open
	if r.Rows > 0 {
		shown = shown[:min(len(shown), r.Rows)]
	}
	for _, p := range shown {
		report.Ports = append(report.Ports, Port{Port: int(p), State: "open", Service: service(p), Protocol: "tcp"})
	}
	return report
}

// shorten cuts a list of ports that is longer than anybody reads.
func shorten(ports string) string { return sanitize.Text(ports, 200) }

// fit leaves out the rows that an answer has no room for, unless all were
// asked for, and lists the ports without a row as ranges.
func (r *Report) fit(open []uint16, rows int) {
	if rows > 0 {
		r.Ports = r.Ports[:rowsThatFit(r.Ports)]
	}
	ranges := SetOf(open[len(r.Ports):])
	r.Truncated = len(ranges) > 0
	for _, p := range ranges[:min(len(ranges), maxRanges)] {
		r.OpenRanges = append(r.OpenRanges, p.String())
	}
	if len(ranges) > maxRanges {
		r.Unavailable.Note("open_ranges", fmt.Sprintf("%d more ranges are left out", len(ranges)-maxRanges))
	}
}

// rowsThatFit returns how many rows there is room for.
func rowsThatFit(ports []Port) int {
	size := 0
	for i, p := range ports {
		raw, _ := json.Marshal(p) //nolint:errcheck // numbers and texts alone
		if size += len(raw) + 1; size > maxRowBytes {
			return i
		}
	}
	return len(ports)
}

// incomplete says why some ports have no state. When none has one, it returns the
// failure instead.
func (r *Report) incomplete(err error, routeCheck func(string) string) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, ErrNoRoute) && r.Scanned == 0:
		return fault.New(fault.Unavailable, "This machine knows no route to "+r.Address+".").
			WithFix("Check the address, and the network of this machine with: " + routeCheck(r.Address))
	case r.Scanned == 0 && !errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(fault.Unavailable, "The scan of "+r.Address+" could not be carried out", err).
			WithFix("Check the network of this machine and how many files a process may open (ulimit -n), then try again.")
	}
	reason := answer.Reason(err)
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "the time limit was reached; ask for fewer ports at a time"
	}
	r.Unavailable.Note("ports", fmt.Sprintf("%d of %d ports have no known state: %s", r.PortsTotal-r.Scanned, r.PortsTotal, reason))
	return nil
}
