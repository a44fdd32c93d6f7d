// SPDX-License-Identifier: Apache-2.0

// Package blocklisttest checks what every packet filter of the blocklist
// promises. Each platform runs the same checks, with packets that are as real as it has them.
package blocklisttest

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
)

// A Subject is a packet filter with the machine that it works on.
type Subject struct {
	Backend blocklist.Backend
	// Peers are an address of IPv4 and one of IPv6 that packets come from and go
	// to. Strangers are two like them that are never blocked.
	Peers, Strangers []netip.Addr
	Most             int // how many addresses are loaded at once
	// LetsGo says that the own rules go with the last address.
	LetsGo bool

	// Clean takes away all rules, those of others too.
	Clean func(t *testing.T)
	// Passes checks that packets of a peer pass on every path, and Stops that none
	// does while those of strangers do.
	Passes, Stops func(t *testing.T, peer netip.Addr)

	// Flush is what another tool does that loses the own rules, and Overtake what
	// lets packets through before them. Kept says that the addresses survive a flush.
	Flush, Overtake func(t *testing.T)
	Kept            bool
	// Repair undoes either where the backend must not do that itself: then Add fails
	// with FIREWALL_UNAVAILABLE before. nil says that Add repairs both.
	Repair func(t *testing.T)
}

// Contract is what every blocklist.Backend promises.
func Contract(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"nothing is loaded at first", testEmpty},
		{"packets stop both ways", testPackets},
		{"a list is what was asked for", testLists},
		{"blocks end", testEnds},
		{"bad addresses are refused", testRefused},
		{"many addresses", testMany},
		{"another tool's flush", testFlush},
		{"another tool's rule", testOvertaken},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.Clean(t)
			c.test(t, s)
		})
	}
}

// empty is what is in force when the last address is gone.
func (s Subject) empty() bool { return !s.LetsGo }

func (s Subject) open(t *testing.T) {
	t.Helper()
	for _, p := range s.Peers {
		s.Passes(t, p)
	}
}

func (s Subject) closed(t *testing.T) {
	t.Helper()
	for _, p := range s.Peers {
		s.Stops(t, p)
	}
}

func testEmpty(t *testing.T, s Subject) {
	b := s.Backend
	s.open(t)
	Loaded(t, b, false)
	Remove(t, b, s.Peers...)
	Loaded(t, b, false)
	Add(t, b, 0)
	Found(t, b, s.Strangers, false)
	Loaded(t, b, false)
}

func testPackets(t *testing.T, s Subject) {
	b := s.Backend
	Add(t, b, 0, s.Peers...)
	s.closed(t)
	Found(t, b, s.Strangers, true, s.Peers...)
	Remove(t, b, s.Peers[1])
	Found(t, b, s.Strangers, true, s.Peers[0])
	s.Stops(t, s.Peers[0])
	s.Passes(t, s.Peers[1])
	Remove(t, b, s.Peers...)
	s.open(t)
	Loaded(t, b, s.empty())
}

func testLists(t *testing.T, s Subject) {
	b := s.Backend
	all := append(Numbered(4, 3), Numbered(6, 3)...)
	Add(t, b, time.Hour, all...)
	Add(t, b, time.Hour, all...)
	if err := b.Add(t.Context(), append(Blocks(time.Minute, all[0]), Blocks(2*time.Hour, all[0])...)); err != nil {
		t.Fatal(err)
	}
	Add(t, b, 0, all[1], all[3])
	left := Loaded(t, b, true, all...)
	want := map[netip.Addr]time.Duration{all[0]: 2 * time.Hour, all[1]: 0, all[2]: time.Hour, all[3]: 0, all[4]: time.Hour, all[5]: time.Hour}
	for a, w := range want {
		if !b.Abilities().Expires {
			w = 0
		}
		if got := left[a]; got > w || got < w-time.Minute {
			t.Errorf("%s has %v left, want %v", a, got, w)
		}
	}
	Found(t, b, s.Strangers, true, all...)
	mapped := netip.AddrFrom16(netip.MustParseAddr("192.0.2.77").As16())
	Add(t, b, 0, mapped)
	Loaded(t, b, true, append(all, netip.MustParseAddr("192.0.2.77"))...)
	Remove(t, b, mapped, all[0])
	Remove(t, b, all[0])
	Loaded(t, b, true, all[1:]...)
}

func testEnds(t *testing.T, s Subject) {
	b := s.Backend
	Add(t, b, 1500*time.Millisecond, s.Peers...)
	s.closed(t)
	if !b.Abilities().Expires {
		until(time.Now().Add(1700*time.Millisecond), func() bool { return len(MustLoad(t, b)) == 0 })
		s.closed(t)
		Loaded(t, b, true, s.Peers...)
		return
	}
	ends := time.Now().Add(4 * time.Second)
	gone := func() bool { return len(MustLoad(t, b)) == 0 }
	until(ends, gone)
	s.open(t)
	Loaded(t, b, true)
	Add(t, b, -time.Second, s.Peers...)
	Add(t, b, time.Nanosecond, s.Peers...)
	until(ends, gone)
	Loaded(t, b, true)
	Add(t, b, 250*365*24*time.Hour, s.Peers...)
	for a, left := range Loaded(t, b, true, s.Peers...) {
		if left < 249*365*24*time.Hour {
			t.Errorf("%s has %v left", a, left)
		}
	}
}

// until looks again and again until something has come about or it is over.
func until(over time.Time, about func() bool) {
	for time.Now().Before(over) && !about() {
		<-time.After(5 * time.Millisecond)
	}
}

func testRefused(t *testing.T, s Subject) {
	b := s.Backend
	for _, bad := range []netip.Addr{{}, netip.MustParseAddr("fe80::1%p0")} {
		if err := b.Add(t.Context(), Blocks(0, s.Peers[0], bad)); err == nil {
			t.Errorf("%q is blocked", bad)
		}
		if err := b.Remove(t.Context(), []netip.Addr{bad}); err == nil {
			t.Errorf("%q is unblocked", bad)
		}
	}
	Loaded(t, b, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Add(ctx, Blocks(0, s.Peers[0])); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Add: %v", err)
	}
	Loaded(t, b, false)
}

func testMany(t *testing.T, s Subject) {
	b := s.Backend
	if m := b.Abilities().Most; m != 0 && s.Most > m {
		t.Errorf("%d are more than %d", s.Most, m)
	}
	all := append(Numbered(4, s.Most/2), Numbered(6, s.Most-s.Most/2)...)
	began := time.Now()
	Add(t, b, time.Hour, all...)
	t.Logf("add %d: %v", len(all), time.Since(began))
	began = time.Now()
	Loaded(t, b, true, all...)
	t.Logf("loaded: %v", time.Since(began))
	began = time.Now()
	Add(t, b, time.Hour, s.Peers...)
	Found(t, b, s.Strangers, true, s.Peers...)
	t.Logf("two more, with proof: %v", time.Since(began))
	s.closed(t)
	Remove(t, b, append(all, s.Peers...)...)
	Loaded(t, b, s.empty())
}

func testFlush(t *testing.T, s Subject) {
	b := s.Backend
	Add(t, b, 0, s.Peers...)
	s.Flush(t)
	var kept []netip.Addr
	if s.Kept {
		kept = s.Peers
	}
	Loaded(t, b, false, kept...)
	s.open(t)
	s.repair(t)
	Add(t, b, 0, s.Peers...)
	Loaded(t, b, true, s.Peers...)
	s.closed(t)
}

func testOvertaken(t *testing.T, s Subject) {
	b := s.Backend
	Add(t, b, 0, s.Peers...)
	s.Overtake(t)
	Loaded(t, b, false, s.Peers...)
	s.repair(t)
	Add(t, b, 0, Numbered(4, 1)...)
	Loaded(t, b, true, append(Numbered(4, 1), s.Peers...)...)
	s.closed(t)
}

// repair checks that a backend which must not repair what others changed says so,
// and then repairs it instead of the backend.
func (s Subject) repair(t *testing.T) {
	t.Helper()
	if s.Repair == nil {
		return
	}
	err := s.Backend.Add(t.Context(), Blocks(0, s.Peers...))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.FirewallUnavailable || f.Fix == "" {
		t.Errorf("Add where nothing can be in force: %v", err)
	}
	s.Repair(t)
}
