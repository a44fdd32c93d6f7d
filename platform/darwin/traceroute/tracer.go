// SPDX-License-Identifier: Apache-2.0

// Package traceroute finds routes with the traceroute of macOS, which needs no
// privilege.
package traceroute

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/internal/traceroute"
)

// The programs, which every Mac has; they may open the sockets that they need.
const (
	traceProgram  = "/usr/sbin/traceroute"
	trace6Program = "/usr/sbin/traceroute6"
	maxOutput     = 1 << 20 // bytes
)

// traceLimit bounds a trace whose context has no end.
const traceLimit = 30 * time.Second

// waitDelay is how long a trace that ran out of time may take to end, so that
// what it has printed is not lost.
const waitDelay = 500 * time.Millisecond

// A Tracer finds routes with traceroute(8) and traceroute6(8).
type Tracer struct {
	runner sysexec.Runner
}

var _ traceroute.Tracer = Tracer{}

// NewTracer returns the Tracer that runner runs programs on.
func NewTracer(runner sysexec.Runner) Tracer { return Tracer{runner} }

// Trace implements [traceroute.Tracer]. Older versions refuse to wait for less
// than two seconds.
func (t Tracer) Trace(ctx context.Context, to netip.Addr, hops, probes int) ([][]traceroute.Response, error) {
	r, err := t.run(ctx, to, hops, probes, 1)
	if err == nil && r.Exit != 0 && strings.Contains(string(r.Stderr), "wait time") {
		r, err = t.run(ctx, to, hops, probes, 2)
	}
	list, parseErr := ParseTrace(r.Stdout, to)
	switch {
	case err != nil:
		return list, err
	case len(list) > 0 || parseErr != nil:
		return list, parseErr
	default:
		return nil, sendError(r)
	}
}

func (t Tracer) run(ctx context.Context, to netip.Addr, hops, probes, wait int) (sysexec.Result, error) {
	to = to.Unmap()
	if !to.IsValid() || to.Zone() != "" {
		return sysexec.Result{}, fmt.Errorf("%q is no address to trace", to)
	}
	program := traceProgram
	if to.Is6() {
		program = trace6Program
	}
	limit := traceLimit
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(end)-waitDelay, time.Millisecond))
	}
	return t.runner.Run(ctx, sysexec.Command{
		Path:    program,
		Args:    []string{"-n", "-q", strconv.Itoa(probes), "-w", strconv.Itoa(wait), "-m", strconv.Itoa(hops), to.String()},
		Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput,
	})
}

// sendError says why nothing was sent.
func sendError(r sysexec.Result) error {
	said := strings.TrimSpace(string(r.Stderr))
	said = said[strings.LastIndexByte(said, '\n')+1:]
	for _, words := range []string{"No route to host", "Network is unreachable", "Can't assign requested address", "Network is down"} {
		if strings.Contains(said, words) {
			return fmt.Errorf("%w (%s)", traceroute.ErrNoRoute, strings.ToLower(words))
		}
	}
	return fmt.Errorf("traceroute ended with status %d: %s", r.Exit, sanitize.Text(said, 200))
}

var errFormat = errors.New("traceroute printed something other than hops")

// ParseTrace reads what "traceroute -n" prints for an address: a line for each
// hop, and further ones that begin with blanks where routers take turns. A packet is an
// asterisk, or a time in milliseconds, before it the address when that differs from the last one,
// and after it why a router did not forward the packet. What cannot be read is an error, except
// at the end of an output that was cut; what comes before it is returned.
func ParseTrace(printed []byte, to netip.Addr) ([][]traceroute.Response, error) {
	p := traceParser{to: to.Unmap()}
	for line := range strings.Lines(string(printed)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "traceroute") {
			continue
		}
		if err := p.line(fields); err != nil {
			if !strings.HasSuffix(line, "\n") {
				err = nil // it was cut
			}
			return p.hops, err
		}
	}
	return p.hops, nil
}

// A traceParser is what was read of an output so far.
type traceParser struct {
	to   netip.Addr
	hops [][]traceroute.Response
	from netip.Addr // who answered last for this hop
}

func (p *traceParser) line(fields []string) error {
	if n, err := strconv.Atoi(fields[0]); err == nil {
		if n != len(p.hops)+1 {
			return errFormat
		}
		p.hops, p.from = append(p.hops, nil), netip.Addr{}
		fields = fields[1:]
	}
	if len(p.hops) == 0 {
		return errFormat
	}
	for len(fields) > 0 {
		n, err := p.next(fields)
		if err != nil {
			return err
		}
		fields = fields[n:]
	}
	return nil
}

// next reads one word, or two for a time, and returns how many.
func (p *traceParser) next(fields []string) (int, error) {
	hop := &p.hops[len(p.hops)-1]
	word := fields[0]
	if word == "*" {
		*hop = append(*hop, traceroute.Response{})
		return 1, nil
	}
	if strings.HasPrefix(word, "!") {
		return 1, p.mark(*hop, word)
	}
	if a, err := netip.ParseAddr(word); err == nil {
		p.from = a.WithZone("").Unmap()
		return 1, nil
	}
	ms, err := strconv.ParseFloat(word, 64) // NaN is a number to it, and no time
	if sound := ms >= 0 && ms <= 1e6; err != nil || !sound || len(fields) < 2 || fields[1] != "ms" || !p.from.IsValid() {
		return 0, errFormat
	}
	*hop = append(*hop, traceroute.Response{From: p.from, RTT: time.Duration(math.Round(ms*1000)) * time.Microsecond, Reached: p.from == p.to})
	return 2, nil
}

// mark says why the last packet was not forwarded. When the target itself
// answered, it was reached, whatever the mark.
func (p *traceParser) mark(hop []traceroute.Response, word string) error {
	if len(hop) == 0 || !hop[len(hop)-1].From.IsValid() {
		return errFormat
	}
	last := &hop[len(hop)-1]
	if !last.Reached && word != "!" {
		last.Rejected = rejection(word, p.to.Is4())
	}
	return nil
}

// rejection says in words what a mark means (traceroute(8), traceroute6(8)): some
// letters mean something else with IPv6.
func rejection(mark string, v4 bool) string {
	switch letter := strings.TrimPrefix(mark, "!"); {
	case letter == "N" || letter == "U" && v4:
		return "network unreachable"
	case letter == "H" || letter == "W" && v4 || letter == "A" && !v4:
		return "host unreachable"
	case letter == "X" || v4 && (letter == "A" || letter == "Z" || letter == "V" || letter == "C") || letter == "P" && !v4:
		return "forbidden by a firewall"
	case letter == "P":
		return "protocol unreachable"
	case strings.HasPrefix(letter, "F"):
		return "the packet is too large"
	case letter == "S":
		return "source route failed"
	default:
		return "unreachable (" + sanitize.Text(mark, 12) + ")"
	}
}
