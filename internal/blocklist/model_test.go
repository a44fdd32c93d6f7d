// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// A expectation is what was acknowledged about an address.
type expectation struct {
	known   bool // false after a crash: it may be blocked or not
	blocked bool
	ends    time.Time
}

// A randomRun does random things to a list and crashes or fails at random moments.
// What was acknowledged must hold whatever happens.
type randomRun struct {
	t        *testing.T
	r        *rand.Rand
	m        *machine
	l        *List
	expected map[string]expectation
	history  []string
}

// crash is what a run that dies panics with.
type crash struct{}

func TestNothingThatWasAcknowledgedIsLost(t *testing.T) {
	for seed := range uint64(150) {
		m := newMachine()
		tr := &randomRun{t: t, r: rand.New(rand.NewPCG(seed, 7)), m: m, l: m.on(t), expected: map[string]expectation{}}
		if seed%2 == 1 {
			tr.l.backend = func(context.Context) (Backend, error) { return finder{m}, nil }
		}
		for range 40 {
			tr.disturb()
			tr.act()
			tr.check()
		}
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, tr.history)
		}
	}
}

// disturb changes something from outside, and decides what will happen to the
// next run.
func (tr *randomRun) disturb() {
	switch tr.r.IntN(8) {
	case 0:
		clear(tr.m.held)
		tr.m.rules = false
		tr.history = append(tr.history, "flush")
	case 1:
		tr.m.now = tr.m.now.Add(time.Duration(tr.r.IntN(100)) * time.Minute)
		tr.history = append(tr.history, "time passes")
	case 2:
		tr.m.rules = false
		tr.history = append(tr.history, "rules lost")
	}
	countdown, dies := tr.r.IntN(20), tr.r.IntN(2) == 0
	tr.m.at = func(step string) error {
		countdown--
		switch {
		case countdown != 0:
			return nil
		case dies:
			tr.history = append(tr.history, "dies at "+step)
			panic(crash{})
		default:
			tr.history = append(tr.history, "fails at "+step)
			return errFake
		}
	}
}

// act runs sentinel once.
func (tr *randomRun) act() {
	address := fmt.Sprintf("203.0.113.%d", 1+tr.r.IntN(6))
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(crash); !ok {
				panic(p)
			}
			tr.expected[address] = expectation{}
		}
	}()
	switch tr.r.IntN(7) {
	case 0, 1, 2:
		tr.block(address)
	case 3, 4:
		tr.unblock(address)
	case 5:
		_, err := tr.l.Restore(tr.t.Context())
		tr.history = append(tr.history, fmt.Sprint("restore: ", err))
	default:
		_, err := tr.l.Read(tr.t.Context(), 0, 0)
		tr.history = append(tr.history, fmt.Sprint("read: ", err))
	}
}

func (tr *randomRun) block(address string) {
	ttl := time.Duration(tr.r.IntN(3)) * time.Hour
	tr.history = append(tr.history, "block "+address)
	got, err := block(tr.t, tr.l, Request{Address: address, TTL: ttl})
	b := tr.expected[address]
	switch {
	case err == nil:
		ends := expiry(inSeconds(tr.m.now), ttl)
		if got.Reapplied {
			ends, _ = time.Parse(time.RFC3339, got.ExpiresAt)
		}
		if got.Reapplied && b.known && (!b.blocked || !b.ends.Equal(ends)) {
			tr.t.Errorf("%s was blocked again as until %v, and it is %+v", address, ends, b)
		}
		tr.expected[address] = expectation{true, true, ends}
	case code(err) == fault.AlreadyBlocked && b.known && !tr.stands(b):
		tr.t.Errorf("%s is no block, and: %v", address, err)
	}
}

func (tr *randomRun) unblock(address string) {
	tr.history = append(tr.history, "unblock "+address)
	_, err := unblock(tr.t, tr.l, address, tr.r.IntN(4) == 0)
	b := tr.expected[address]
	switch {
	case err == nil:
		tr.expected[address] = expectation{known: true}
	case code(err) == fault.NotBlocked && tr.stands(b):
		tr.t.Errorf("%s is a block, and: %v", address, err)
	}
}

func (tr *randomRun) stands(b expectation) bool {
	return b.blocked && !entry{Ends: b.ends}.over(tr.m.now)
}

// check restores without trouble: both sides agree then, also with what was
// acknowledged.
func (tr *randomRun) check() {
	tr.m.at = nil
	tr.agrees("before a restore", listed(tr.t, tr.l))
	if tr.r.IntN(3) > 0 {
		return
	}
	restore(tr.t, tr.l)
	tr.agrees("list", listed(tr.t, tr.l))
	tr.agrees("kernel", tr.m.addresses())
	if got := listing(tr.t, tr.l); !*got.InSync {
		tr.t.Errorf("after a restore: %+v", got.Drift)
	}
}

func (tr *randomRun) agrees(where string, has []string) {
	for address, b := range tr.expected {
		there := slices.Contains(has, address)
		if b.known && tr.stands(b) && !there || b.known && !b.blocked && there {
			tr.t.Errorf("%s: %s is there: %v, and it is %+v", where, address, there, b)
		}
	}
}
