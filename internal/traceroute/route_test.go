// SPDX-License-Identifier: Apache-2.0

package traceroute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/progress"
	"sentinel/internal/target"
)

// A path answers as routers would: hop n is 192.0.2.n, silent where it says so.
type path struct {
	length    int // where the target stands; 0 is nowhere
	silent    []int
	rejected  map[int]string
	err       error
	probeSets [][]int
}

func (p *path) Probe(ctx context.Context, to netip.Addr, hops []int, wait time.Duration) ([]Response, error) {
	p.probeSets = append(p.probeSets, hops)
	responses := make([]Response, len(hops))
	if p.err != nil {
		return nil, p.err
	}
	missing := false
	for i, h := range hops {
		last := p.length > 0 && h >= p.length
		switch {
		case slices.Contains(p.silent, h) || p.length == 0 && len(p.rejected) == 0:
			missing = true
		case last:
			responses[i] = Response{From: to, RTT: time.Duration(p.length) * time.Millisecond, Reached: true}
		default:
			responses[i] = Response{From: netip.AddrFrom4([4]byte{192, 0, 2, byte(h)}), RTT: time.Duration(h) * time.Millisecond, Rejected: p.rejected[h]}
		}
	}
	if missing {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return responses, nil
}

type namer map[string]string

func (n namer) LookupAddr(ctx context.Context, address string) ([]string, error) {
	if n[address] == "stuck" {
		<-ctx.Done()
	}
	if n[address] == "" {
		return nil, errors.New("no name")
	}
	return []string{n[address]}, nil
}

func far() target.Host { return target.Host{Addr: netip.MustParseAddr("198.51.100.7")} }

func TestARouteIsFollowedToTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &path{length: 5, silent: []int{2}}
		names := namer{"192.0.2.1": "gateway.example.", "192.0.2.3": "evil\x1b[2J.example.", "192.0.2.4": "stuck"}
		start := time.Now()
		got, err := Trace(t.Context(), Sources{Prober: p, Names: names}, far())
		if err != nil {
			t.Fatal(err)
		}
		ms := func(n float64) []float64 { return []float64{n, n, n} }
		want := []Hop{
			{1, []string{"192.0.2.1"}, "gateway.example", 3, 0, ms(1), ""},
			{2, []string{}, "", 3, 100, []float64{}, ""},
			{3, []string{"192.0.2.3"}, "evil�[2J.example", 3, 0, ms(3), ""},
			{4, []string{"192.0.2.4"}, "", 3, 0, ms(4), ""},
			{5, []string{"198.51.100.7"}, "", 3, 0, ms(5), ""},
		}
		if !cmp.Equal(got.Hops, want) || !got.Reached || got.HopsTotal != 5 || got.MaxHops != MaxHops || len(got.Unavailable) != 0 {
			t.Errorf("%+v\n%s", got, cmp.Diff(want, got.Hops))
		}
		if want := [][]int{{1, 2, 3}, {4, 5, 6}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}}; !cmp.Equal(p.probeSets, want) {
			t.Errorf("%v", p.probeSets)
		}
		if took := time.Since(start); took != 3*probeLimit+namesLimit {
			t.Error(took)
		}
	})
}

func TestRoutesThatEndEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			path   *path
			hops   int
			note   string
			reason string
		}{
			{&path{rejected: map[int]string{2: "forbidden by a firewall"}}, 2, "forbidden by a firewall", "nothing answered beyond hop 2 of 30 that were looked at; the target or a firewall may not answer UDP"},
			{&path{length: 0}, 0, "", "nothing answered beyond hop 0 of 30 that were looked at; the target or a firewall may not answer UDP"},
			{&path{length: 99, silent: []int{29, 30}}, 28, "", "nothing answered beyond hop 28 of 30 that were looked at; the target or a firewall may not answer UDP"},
		} {
			start := time.Now()
			got, err := Trace(t.Context(), Sources{Prober: c.path}, far())
			if err != nil || got.Reached || len(got.Hops) != c.hops || got.Unavailable[0].Reason != c.reason || time.Since(start) > routeLimit {
				t.Errorf("%+v, %v after %v", got, err, time.Since(start))
			}
			if c.hops > 0 && (got.Hops[c.hops-1].Note != c.note || len(c.path.probeSets[len(c.path.probeSets)-1]) != c.hops) {
				t.Errorf("%+v, %v", got.Hops, c.path.probeSets)
			}
		}
	})
}

func TestRoutesThatCannotBeFollowed(t *testing.T) {
	for _, c := range []struct {
		err     error
		message string
	}{
		{fmt.Errorf("%w (unreachable)", ErrNoRoute), "This machine knows no route to 198.51.100.7."},
		{errors.New("operation not permitted"), "No packet could be sent to 198.51.100.7: operation not permitted"},
	} {
		_, err := Trace(t.Context(), Sources{Prober: &path{err: c.err}, RouteCheck: func(a string) string { return "route " + a }}, far())
		if known := fault.From(err); known.Code != fault.Unavailable || known.Message != c.message {
			t.Errorf("%+v", known)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Trace(ctx, Sources{Prober: &path{}}, far()); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestARouteSaysHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, last := "", -1
		ctx := progress.With(t.Context(), func(percent int, words string) {
			if percent <= last {
				t.Errorf("%d %s after %d", percent, words, last)
			}
			said, last = said+words+"\n", percent
		})
		if _, err := Trace(ctx, Sources{Prober: &path{length: 5}}, far()); err != nil {
			t.Fatal(err)
		}
		want := "looking up the address\nasking hops 1 to 3\nasking hops 4 to 6\npacket 2 of 3 to each of 5 hops\npacket 3 of 3 to each of 5 hops\nlooking up the names of the routers\n"
		if said != want {
			t.Errorf("%q, want %q", said, want)
		}
	})
}
