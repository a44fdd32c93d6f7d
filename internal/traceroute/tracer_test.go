// SPDX-License-Identifier: Apache-2.0

package traceroute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/target"
)

// A fakeTracer has found its route already, or never ends.
type fakeTracer struct {
	hops    [][]Response
	err     error
	endless bool
}

func (w fakeTracer) Trace(ctx context.Context, _ netip.Addr, hops, probes int) ([][]Response, error) {
	if hops != MaxHops || probes != Probes {
		return nil, fmt.Errorf("asked for %d hops and %d packets", hops, probes)
	}
	if w.endless {
		<-ctx.Done()
		return w.hops, ctx.Err()
	}
	return w.hops, w.err
}

func response(a string, ms int) Response {
	return Response{From: netip.MustParseAddr(a), RTT: time.Duration(ms) * time.Millisecond, Reached: a == "198.51.100.9"}
}

func traceWith(t *testing.T, w fakeTracer) (Route, error) {
	t.Helper()
	host, err := target.Parse("198.51.100.9")
	if err != nil {
		t.Fatal(err)
	}
	return Trace(t.Context(), Sources{Tracer: w, RouteCheck: func(a string) string { return "route " + a }}, host)
}

func TestRouteOfATracer(t *testing.T) {
	r, err := traceWith(t, fakeTracer{hops: [][]Response{
		{response("192.0.2.1", 1), response("192.0.2.1", 2), {}},
		{{}, {}, {}},
		{response("192.0.2.3", 3), response("192.0.2.4", 4), {From: netip.MustParseAddr("192.0.2.4"), Rejected: "host unreachable"}},
		{response("198.51.100.9", 5), response("198.51.100.9", 6), response("198.51.100.9", 7)},
	}})
	if err != nil || !r.Reached || r.HopsTotal != 4 || len(r.Unavailable) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if h := r.Hops[0]; h.Sent != 3 || h.LossPercent != 33 || len(h.LatencyMS) != 2 || h.LatencyMS[1] != 2 {
		t.Errorf("%+v", h)
	}
	if h := r.Hops[1]; len(h.Addresses) != 0 || h.LossPercent != 100 {
		t.Errorf("%+v", h)
	}
	if h := r.Hops[2]; len(h.Addresses) != 2 || h.Note != "host unreachable" {
		t.Errorf("%+v", h)
	}
}

// What there was time for is answered, and how far that is.
func TestTracerThatRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, err := traceWith(t, fakeTracer{endless: true, hops: [][]Response{{response("192.0.2.1", 1)}, {{}, {}, {}}, {{}}}})
		if took := time.Since(start); err != nil || r.Reached || r.HopsTotal != 1 || took != traceLimit {
			t.Errorf("%+v, %v after %v", r, err, took)
		}
		reasons := fmt.Sprint(r.Unavailable)
		if !strings.Contains(reasons, "did not answer in time") || !strings.Contains(reasons, "beyond hop 1 of 3 that were looked at") {
			t.Error(reasons)
		}
	})
}

func TestTracerThatCannotSend(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"no route": {fmt.Errorf("%w (x)", ErrNoRoute), "knows no route to 198.51.100.9"},
		"another":  {errors.New("broken"), "No packet could be sent to 198.51.100.9: broken"},
	} {
		_, err := traceWith(t, fakeTracer{err: c.err})
		var known *fault.Error
		if !errors.As(err, &known) || known.Code != fault.Unavailable || !strings.Contains(known.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
