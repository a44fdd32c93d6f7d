// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

var errFake = errors.New("the kernel does not want to")

// A machine is what a list stands on, in memory: a packet filter, connections
// and what must stay reachable. Before and after everything that happens at its edge it
// calls at, which may fail it or end it.
type machine struct {
	mu        sync.Mutex               // of held, rules and log
	held      map[netip.Addr]time.Time // when the kernel lets go; zero: never
	rules     bool
	can       Abilities
	protected []ProtectedAddr
	unknown   error // of ProtectedAddrs
	named     []ProtectedAddr
	unnamed   error // of NamedAddrs
	now       time.Time
	lies      bool          // what is added is not there
	bare      bool          // nor are the rules
	adds      int           // calls of Add
	partial   int           // so many readings lack an address
	late      time.Duration // by which it ends blocks too late
	open      map[netip.Addr]int
	log       []string
	at        func(step string) error
}

func newMachine() *machine {
	return &machine{
		held: map[netip.Addr]time.Time{}, now: began, open: map[netip.Addr]int{},
		can: Abilities{Expires: true, Directions: []string{"in", "out", "forward"}},
		protected: []ProtectedAddr{
			{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Why: "the default gateway"},
			{Prefix: netip.MustParsePrefix("192.0.2.9/32"), Why: "an address of this machine", Own: true},
			{Prefix: netip.MustParsePrefix("::ffff:192.0.2.53/128"), Why: "a resolver"},
			{Prefix: netip.MustParsePrefix("fe80::1/128"), Why: "the default gateway"},
		},
	}
}

func (m *machine) step(ctx context.Context, name string) error {
	m.mu.Lock()
	m.log = append(m.log, name)
	m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.at == nil {
		return nil
	}
	return m.at(name)
}

// failAt lets one call of a step fail, counted from 1.
func (m *machine) failAt(step string, call int) {
	m.at = func(now string) error {
		if now == step {
			call--
		}
		if now == step && call == 0 {
			return errFake
		}
		return nil
	}
}

func (m *machine) Name() string { return "fake" }

func (m *machine) Abilities() Abilities { return m.can }

func (m *machine) Add(ctx context.Context, blocks []Block) error {
	m.adds++
	var failed error
	for part := range slices.Chunk(blocks, 1000) {
		failed = errors.Join(failed, m.addPart(ctx, part))
	}
	return failed
}

func (m *machine) addPart(ctx context.Context, blocks []Block) error {
	if err := m.step(ctx, "add"); err != nil {
		return err
	}
	m.change(func() {
		m.rules = !m.bare
		for _, b := range blocks {
			m.add(b)
		}
	})
	return m.step(ctx, "added")
}

func (m *machine) add(b Block) {
	if m.lies {
		return
	}
	m.held[b.Address] = time.Time{}
	if b.Left > 0 && m.can.Expires {
		m.held[b.Address] = m.now.Add(b.Left + m.late)
	}
}

func (m *machine) Remove(ctx context.Context, addresses []netip.Addr) error {
	if err := m.step(ctx, "remove"); err != nil {
		return err
	}
	m.change(func() {
		for _, a := range addresses {
			if !m.lies {
				delete(m.held, a)
			}
		}
	})
	return m.step(ctx, "removed")
}

func (m *machine) Loaded(ctx context.Context) ([]Block, bool, error) {
	if err := m.step(ctx, "loaded"); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	var blocks []Block
	for a, end := range m.held {
		b := Block{Address: a}
		if !end.IsZero() {
			b.Left = end.Sub(m.now)
		}
		blocks = append(blocks, b)
	}
	if m.partial > 0 && len(blocks) > 0 {
		m.partial--
		blocks = blocks[1:]
	}
	return blocks, m.rules, nil
}

func (m *machine) change(what func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what()
}

// expire is what the kernel does by its own clock.
func (m *machine) expire() {
	maps.DeleteFunc(m.held, func(_ netip.Addr, end time.Time) bool { return !end.IsZero() && !end.After(m.now) })
}

func (m *machine) ProtectedAddrs(ctx context.Context) ([]ProtectedAddr, error) {
	if err := m.step(ctx, "protected"); err != nil {
		return nil, err
	}
	return m.protected, m.unknown
}

func (m *machine) NamedAddrs(context.Context, []ProtectedAddr) ([]ProtectedAddr, error) {
	return m.named, m.unnamed
}

func (m *machine) Kill(ctx context.Context, a netip.Addr) (int, error) {
	if err := m.step(ctx, "cut"); err != nil {
		return 0, err
	}
	n := m.open[a]
	m.open[a] = 0
	return n, nil
}

func (m *machine) addresses() []string {
	m.expire()
	var all []string
	for a := range m.held {
		all = append(all, a.String())
	}
	slices.Sort(all)
	return all
}

// A finder is a machine that can look for one address.
type finder struct{ *machine }

func (m finder) Find(ctx context.Context, a netip.Addr) (Block, bool, bool, error) {
	if err := m.step(ctx, "find"); err != nil {
		return Block{}, false, false, err
	}
	m.expire()
	end, found := m.held[a]
	b := Block{Address: a}
	if !end.IsZero() {
		b.Left = end.Sub(m.now)
	}
	return b, found, m.rules, nil
}

// shortWait is how long a test waits for a lock that nobody releases.
const shortWait = 50 * time.Millisecond

// on returns a list that stands on m, in a directory of its own.
func (m *machine) on(t testing.TB) *List {
	t.Helper()
	return m.under(filepath.Join(t.TempDir(), "state", "blocklist.json"))
}

func (m *machine) under(path string) *List {
	l := New(path, func(context.Context) (Backend, error) { return m, nil }, m, m, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")})
	l.now = func() time.Time { return m.now }
	l.lockTimeout, l.readInterval = testenv.HangLimit, time.Millisecond
	return l
}

func block(t testing.TB, l *List, r Request) (BlockResult, error) {
	t.Helper()
	b, err := l.PlanBlock(t.Context(), r)
	if err != nil {
		return BlockResult{}, err
	}
	return b.Do(t.Context())
}

func mustBlock(t testing.TB, l *List, addresses ...string) {
	t.Helper()
	for _, a := range addresses {
		if _, err := block(t, l, Request{Address: a, Reason: "r", By: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
}

func unblock(t testing.TB, l *List, address string, force bool) (UnblockResult, error) {
	t.Helper()
	u, err := l.PlanUnblock(t.Context(), address, force)
	if err != nil {
		return UnblockResult{}, err
	}
	return u.Do(t.Context())
}

func restore(t testing.TB, l *List) RestoreResult {
	t.Helper()
	r, err := l.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func listing(t testing.TB, l *List) Listing {
	t.Helper()
	r, err := l.Read(t.Context(), DefaultIPs, DefaultEntries)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listed returns what the file holds, as text and sorted.
func listed(t testing.TB, l *List) []string {
	t.Helper()
	c, err := l.read(fileContent{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range c.entries {
		all = append(all, e.Address.String())
	}
	slices.Sort(all)
	return all
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

// write puts a file in place of the list's.
func write(t testing.TB, l *List, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
