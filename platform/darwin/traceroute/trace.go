// SPDX-License-Identifier: Apache-2.0

// Package traceroute follows routes with the traceroute of macOS, which needs no
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
	maxTrace      = 1 << 20 // bytes
)

// traceLimit bounds a trace whose context has no end.
const traceLimit = 30 * time.Second

// lastWords is how long a trace that is out of time may take to end, so that
// what it has printed is not lost.
const lastWords = 500 * time.Millisecond

// A Tracer follows routes with traceroute(8) and traceroute6(8).
type Tracer struct {
	runner sysexec.Runner
}

var _ traceroute.Tracer = Tracer{}

// NewTracer returns the Tracer that runner runs programs on.
func NewTracer(runner sysexec.Runner) Tracer { return Tracer{runner} }

// Trace implements [traceroute.Tracer]. Older versions do not wait for as little as
// a second.
func (t Tracer) Trace(ctx context.Context, to netip.Addr, hops, probes int) ([][]traceroute.Echo, error) {
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
		return nil, failure(r)
	}
}

func (t Tracer) run(ctx context.Context, to netip.Addr, hops, probes, wait int) (sysexec.Result, error) {
	to = to.Unmap()
	if !to.IsValid() || to.Zone() != "" {
		return sysexec.Result{}, fmt.Errorf("%q is no address to follow", to)
	}
	program := traceProgram
	if to.Is6() {
		program = trace6Program
	}
	limit := traceLimit
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(end)-lastWords, time.Millisecond))
	}
	return t.runner.Run(ctx, sysexec.Command{
		Path: program,
		Args: []string{"-n", "-q", strconv.Itoa(probes), "-w", strconv.Itoa(wait), "-m", strconv.Itoa(hops), to.String()},
		// It is left at once: what it has printed by then is all there is.
		Timeout: limit, WaitDelay: lastWords, MaxOutput: maxTrace,
	})
}

// failure is why nothing was sent.
func failure(r sysexec.Result) error {
	said := strings.TrimSpace(string(r.Stderr))
	said = said[strings.LastIndexByte(said, '\n')+1:]
	for _, words := range []string{"No route to host", "Network is unreachable", "Can't assign requested address", "Network is down"} {
		if strings.Contains(said, words) {
			return fmt.Errorf("%w (%s)", traceroute.ErrNoRoute, strings.ToLower(words))
		}
	}
	return fmt.Errorf("traceroute ended with status %d: %s", r.Exit, sanitize.Text(said, 200))
}

var errTrace = errors.New("traceroute printed something else than hops")

// ParseTrace reads what "traceroute -n" prints on its way to an address: a line
// for each hop, or several where routers take turns, which then begin with blanks. Each
// packet is a time in milliseconds, after the address if it is another than before, or an
// asterisk; after the time stands why a router let it go no further. What cannot be read,
// such as the end of an output that was cut, is an error, and what stands before it counts.
func ParseTrace(printed []byte, to netip.Addr) ([][]traceroute.Echo, error) {
	p := tracing{to: to.Unmap()}
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

// A tracing is an output that was read so far.
type tracing struct {
	to   netip.Addr
	hops [][]traceroute.Echo
	from netip.Addr // who answered last at this hop
}

func (p *tracing) line(fields []string) error {
	if n, err := strconv.Atoi(fields[0]); err == nil {
		if n != len(p.hops)+1 {
			return errTrace
		}
		p.hops, p.from = append(p.hops, nil), netip.Addr{}
		fields = fields[1:]
	}
	if len(p.hops) == 0 {
		return errTrace
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
func (p *tracing) next(fields []string) (int, error) {
	hop := &p.hops[len(p.hops)-1]
	word := fields[0]
	if word == "*" {
		*hop = append(*hop, traceroute.Echo{})
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
		return 0, errTrace
	}
	*hop = append(*hop, traceroute.Echo{From: p.from, Took: time.Duration(math.Round(ms*1000)) * time.Microsecond, Reached: p.from == p.to})
	return 2, nil
}

// mark notes why the packet before it went no further. An answer of the target
// itself is one, whatever it says.
func (p *tracing) mark(hop []traceroute.Echo, word string) error {
	if len(hop) == 0 || !hop[len(hop)-1].From.IsValid() {
		return errTrace
	}
	last := &hop[len(hop)-1]
	if !last.Reached && word != "!" {
		last.Ended = ending(word, p.to.Is4())
	}
	return nil
}

// ending says in words what a mark means (traceroute(8), traceroute6(8)): some
// letters mean something else with IPv6.
func ending(mark string, v4 bool) string {
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
