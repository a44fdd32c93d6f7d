// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func TestUnblockedAddressIsNeitherListedNorDropped(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7", "2001:db8::7")
	got, err := unblock(t, l, "::ffff:203.0.113.7", false)
	if err != nil || got.IP != "203.0.113.7" || got.Backend != "fake" || got.Was == nil || got.Was.BlockedBy != "bob" || len(got.Warnings) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	same(t, "list", listed(t, l), []string{"2001:db8::7"})
	same(t, "kernel", m.addresses(), []string{"2001:db8::7"})
	if _, err := unblock(t, l, "203.0.113.7", false); code(err) != fault.NotBlocked {
		t.Errorf("once more: %v", err)
	}
}

func TestWhatIsBlockedOnOneSideCanBeUnblocked(t *testing.T) {
	a := netip.MustParseAddr("203.0.113.7")
	for name, f := range map[string]func(m *machine, l *List){
		"kernel alone": func(m *machine, _ *List) { m.held[a] = time.Time{} },
		"list alone":   func(m *machine, l *List) { mustBlock(t, l, a.String()); clear(m.held) },
		"rules lost":   func(m *machine, l *List) { mustBlock(t, l, a.String()); m.rules = false },
		"suspended": func(m *machine, l *List) {
			mustBlock(t, l, a.String())
			m.protected = append(m.protected, ProtectedAddr{Prefix: netip.PrefixFrom(a, 32), Why: "the default gateway"})
			restore(t, l)
		},
		"ended in the list alone": func(m *machine, l *List) {
			m.can.Expires = false
			if _, err := block(t, l, Request{Address: a.String(), TTL: time.Hour}); err != nil {
				t.Fatal(err)
			}
			m.now = began.Add(2 * time.Hour)
		},
	} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "2001:db8::7")
		f(m, l)
		kernel := len(m.held)
		if _, err := unblock(t, l, a.String(), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, still := m.held[a]; still || len(m.held) < kernel-1 {
			t.Errorf("%s: the kernel has %v", name, m.addresses())
		}
		same(t, name+", list", listed(t, l), []string{"2001:db8::7"})
	}
}

func TestEndedBlockIsNoBlock(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	m.now = began.Add(time.Hour)
	if _, err := unblock(t, l, "203.0.113.7", false); code(err) != fault.NotBlocked {
		t.Errorf("%v", err)
	}
}

func TestFailedUnblockLeavesTheBlock(t *testing.T) {
	for _, step := range []string{"remove", "removed", "loaded", ""} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.7")
		m.lies = step == ""
		m.failAt(step, map[string]int{"loaded": 3, "remove": 1, "removed": 1}[step])
		if _, err := unblock(t, l, "203.0.113.7", false); code(err) != fault.FirewallFailed {
			t.Errorf("%q: %v", step, err)
		}
		same(t, step+", list", listed(t, l), []string{"203.0.113.7"})
		same(t, step+", kernel", m.addresses(), []string{"203.0.113.7"})
	}
}

func TestUnblockStopsBeforeTheFirstWriteOnly(t *testing.T) {
	for _, stop := range []string{"loaded", "remove"} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.7")
		u, err := l.PlanUnblock(t.Context(), "203.0.113.7", false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		m.at = func(step string) error {
			if step == stop {
				cancel()
			}
			return nil
		}
		_, err = u.Do(ctx)
		cancel()
		if stopped := stop == "loaded"; stopped != errors.Is(err, context.Canceled) || stopped != (len(m.addresses()) == 1) || stopped != (len(listed(t, l)) == 1) {
			t.Errorf("cancelled at %q: %v, the kernel has %v, the list %v", stop, err, m.addresses(), listed(t, l))
		}
	}
}

// Whoever is locked out gets back in, whatever has become of the file.
func TestForceLiftsABlockWithoutTheList(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(l *List)
		code  fault.Code // without force
		says  string
	}{
		"damaged":   {func(l *List) { write(t, l, golden[:200]) }, fault.StateCorrupt, "set aside"},
		"untrusted": {func(l *List) { chmod(t, l.path, 0o666) }, fault.StateCorrupt, "written by others"},
		"locked": {func(l *List) {
			release, err := l.lock(t.Context())
			l.lockTimeout = shortWait
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(release)
		}, fault.Unavailable, "another run"},
		"not to be written": {func(l *List) { blockWrites(t, l) }, fault.Unavailable, "not empty"},
	} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.7", "2001:db8::7")
		c.spoil(l)
		if name != "damaged" {
			if _, err := unblock(t, l, "203.0.113.7", false); code(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		got, err := unblock(t, l, "203.0.113.7", true)
		if err != nil || !strings.Contains(strings.Join(got.Warnings, " "), c.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		same(t, name+", kernel", m.addresses(), []string{"2001:db8::7"})
		if said := strings.Contains(strings.Join(got.Warnings, " "), "still on the list"); said != (name == "locked" || name == "not to be written") {
			t.Errorf("%s: warned of %v", name, got.Warnings)
		}
	}
}

func TestForceDoesNotInventABlock(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	if _, err := unblock(t, l, "203.0.113.8", true); code(err) != fault.NotBlocked {
		t.Errorf("%v", err)
	}
	chmod(t, l.path, 0o666)
	if _, err := unblock(t, l, "203.0.113.8", true); code(err) != fault.StateCorrupt {
		t.Errorf("without a list: %v", err)
	}
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}
