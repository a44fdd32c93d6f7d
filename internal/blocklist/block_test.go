// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/humanize"
)

func TestBlockIsListedAndInForce(t *testing.T) {
	for _, ttl := range []time.Duration{0, day} {
		m := newMachine()
		l, a := m.on(t), netip.MustParseAddr("203.0.113.7")
		m.open[a] = 3
		got, err := block(t, l, Request{Address: "::ffff:203.0.113.7", Reason: "brute\x1b[31m force", By: "bob via sudo", TTL: ttl})
		if err != nil || got.IP != "203.0.113.7" || got.Reason != "brute\ufffd[31m force" || got.BlockedBy != "bob via sudo" || got.BlockedAt != "2026-03-01T12:00:00Z" ||
			got.Backend != "fake" || !*got.InKernel || *got.ConnectionsCut != 3 || got.Reapplied || len(got.Warnings) != 0 || got.Forced {
			t.Errorf("got %+v, %v", got, err)
		}
		if want := map[time.Duration]string{0: "", day: "2026-03-02T12:00:00Z"}[ttl]; got.ExpiresAt != want || got.Permanent != (ttl == 0) {
			t.Errorf("ttl %v: ends %q, permanent %v", ttl, got.ExpiresAt, got.Permanent)
		}
		if end := m.held[a]; end.IsZero() != (ttl == 0) || !end.IsZero() && !end.Equal(began.Add(ttl)) {
			t.Errorf("ttl %v: the kernel ends it at %v", ttl, end)
		}
		same(t, "list", listed(t, l), []string{"203.0.113.7"})
		if info, err := os.Stat(l.path); err != nil || info.Mode() != 0o644 {
			t.Errorf("the file: %v, %v", info.Mode(), err)
		}
		if info, err := os.Stat(l.lockPath()); err != nil || info.Mode() != 0o600 {
			t.Errorf("the lock: %v, %v", info.Mode(), err)
		}
	}
}

func TestPlanningChangesNothing(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	b, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.7", TTL: day})
	if err != nil || b.Summary() != "Would block 203.0.113.7 with fake (in, out, forward) until "+humanize.Moment(began.Add(24*time.Hour))+", and cut its open connections." || b.Address() != "203.0.113.7" {
		t.Errorf("%+v, %v", b, err)
	}
	if slices.ContainsFunc(m.log, func(s string) bool { return s != "protected" && s != "loaded" }) {
		t.Errorf("it did %v", m.log)
	}
	if _, err := os.Stat(l.path); err == nil {
		t.Error("it wrote a file")
	}
	mustBlock(t, l, "203.0.113.7")
	u, err := l.PlanUnblock(t.Context(), "203.0.113.7", false)
	if err != nil || u.Summary() != `Would let 203.0.113.7 in again, which is blocked by "bob" until it is unblocked.` || u.Address() != "203.0.113.7" {
		t.Errorf("%+v, %v", u, err)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7"})
}

// Who blocked has a name that a client chose.
func TestNameOfWhoBlockedEndsWithItsQuote(t *testing.T) {
	l := newMachine().on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", By: `bob" until noon. "x`}); err != nil {
		t.Fatal(err)
	}
	u, err := l.PlanUnblock(t.Context(), "203.0.113.7", false)
	if err != nil || u.Summary() != `Would let 203.0.113.7 in again, which is blocked by "bob' until noon. 'x" until it is unblocked.` {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestWhatMustStayReachableIsRefused(t *testing.T) {
	for _, c := range []struct {
		address, why string
		always       bool
	}{
		{"127.0.0.1", "loopback", true}, {"127.9.9.9", "loopback", true}, {"::1", "loopback", true}, {"::ffff:127.0.0.1", "loopback", true},
		{"::127.0.0.1", "another form of 127.0.0.1, which is a loopback address", true}, {"::ffff:0:127.0.0.1", "loopback", true}, {"64:ff9b::127.0.0.1", "loopback", true},
		{"64:ff9b:1::127.0.0.1", "loopback", true}, {"2002:7f00:1::1", "loopback", true}, {"2001:0:4136:e378:8000:63bf:80ff:fffe", "another form of 127.0.0.1, which is a loopback address", true},
		{"2001:db8::5efe:127.0.0.1", "loopback", true}, {"::224.0.0.1", "multicast", true}, {"64:ff9b::0.0.0.0", "unspecified", true}, {"::255.255.255.255", "broadcast", false},
		{"::192.0.2.9", "another form of 192.0.2.9, which is an address of this machine", true}, {"::ffff:0:192.0.2.9", "an address of this machine", true},
		{"64:ff9b::192.0.2.9", "an address of this machine", true}, {"64:ff9b:1::192.0.2.9", "an address of this machine", true}, {"2002:c000:209::", "an address of this machine", true},
		{"2002:c000:209:1:2:3:4:5", "an address of this machine", true}, {"2001:0:4136:e378:8000:63bf:3fff:fdf6", "an address of this machine", true},
		{"2001:0:c000:209:8000:63bf:3fff:fd00", "an address of this machine", true}, {"fe80::200:5efe:192.0.2.9", "an address of this machine", true},
		{"0.0.0.0", "unspecified", true}, {"::", "unspecified", true}, {"::ffff:0.0.0.0", "unspecified", true},
		{"224.0.0.1", "multicast", true}, {"ff02::1", "multicast", true}, {"192.0.2.9", "an address of this machine", true}, {"::ffff:192.0.2.9", "an address of this machine", true},
		{"192.0.2.1", "the default gateway", false}, {"192.0.2.53", "a resolver", false}, {"fe80::1", "the default gateway", false},
		{"64:ff9b::192.0.2.1", "another form of 192.0.2.1, which is the default gateway", false}, {"2002:c000:235::1", "another form of 192.0.2.53, which is a resolver", false},
		{"169.254.169.254", "a service of the cloud", false}, {"fd00:ec2::254", "a service of the cloud", false}, {"168.63.129.16", "a service of the cloud", false}, {"169.254.0.2", "a service of the cloud", false}, {"169.254.0.4", "a service of the cloud", false}, {"169.254.42.42", "a service of the cloud", false}, {"100.100.100.200", "a service of the cloud", false},
		{"64:ff9b::169.254.169.254", "another form of 169.254.169.254, which is a service of the cloud", false}, {"64:ff9b::198.51.100.77", "allowlist of the configuration", false},
		{"255.255.255.255", "broadcast", false}, {"198.51.100.77", "allowlist of the configuration (198.51.100.0/24)", false},
	} {
		m := newMachine()
		l := m.on(t)
		_, err := block(t, l, Request{Address: c.address})
		if code(err) != fault.ProtectedAddress || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.address, err)
		}
		forced, err := block(t, l, Request{Address: c.address, Force: true})
		if c.always && code(err) != fault.ProtectedAddress || !c.always && (err != nil || !forced.Forced) {
			t.Errorf("%s by force: %+v, %v", c.address, forced, err)
		}
		if c.always == slices.Contains(m.log, "add") {
			t.Errorf("%s: the kernel saw %v", c.address, m.log)
		}
	}
}

// An address of others is blocked as it is asked for, whatever form it has.
func TestFormsOfAddressesOfOthersMayBeBlocked(t *testing.T) {
	for _, a := range []string{"::203.0.113.7", "64:ff9b::203.0.113.7", "2002:cb00:7107::1", "2001:0:4136:e378:8000:63bf:34ff:8ef8", "::7"} {
		if _, err := block(t, newMachine().on(t), Request{Address: a}); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// An address can be two things at once. What force does not lift decides.
func TestTheWorstDangerCounts(t *testing.T) {
	m := newMachine()
	m.protected = append([]ProtectedAddr{{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Why: "a network"}}, m.protected...)
	if _, err := block(t, m.on(t), Request{Address: "192.0.2.9", Force: true}); code(err) != fault.ProtectedAddress {
		t.Errorf("%v", err)
	}
}

func TestUnknownHostContextIsNoPermission(t *testing.T) {
	m := newMachine()
	m.unknown = errFake
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); code(err) != fault.Unavailable || !errors.Is(err, errFake) {
		t.Errorf("%v", err)
	}
	if _, err := block(t, l, Request{Address: "203.0.113.7", Force: true}); err != nil {
		t.Errorf("by force: %v", err)
	}
}

// What was asked for the second time is not what counts, and the caller has to
// know.
func TestBlockThatIsListedAlreadySaysThatItKeepsItsEnd(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", By: "bob", Reason: "first", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	clear(m.held) // another tool has flushed it
	plan, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.7", Reason: "second", TTL: day})
	must(t, err)
	if end, again := plan.Reapplies(); !again || end != "2026-03-01T13:00:00Z" {
		t.Errorf("planned: ends %q, again %v", end, again)
	}
	if expected, known := plan.Preview(); !known || expected.ExpiresAt != "2026-03-01T13:00:00Z" || expected.Reason != "first" {
		t.Errorf("preview: %+v, %v", expected, known)
	}
	got, err := plan.Do(t.Context())
	must(t, err)
	if !got.Reapplied || got.ExpiresAt != "2026-03-01T13:00:00Z" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "are those of then") {
		t.Errorf("%+v", got)
	}
}

// Blocks of one second are listed in the order in which they were made.
func TestTheLaterOfOneSecondIsTheNewer(t *testing.T) {
	l := newMachine().on(t)
	for _, a := range []string{"203.0.113.5", "203.0.113.9", "203.0.113.1"} {
		mustBlock(t, l, a)
	}
	same(t, "ips", listing(t, l).IPs, []string{"203.0.113.1", "203.0.113.9", "203.0.113.5"})
}

// A restore lets in again what only the packet filter has. Whoever is told to
// run it must know.
func TestDriftSaysWhatARestoreWouldDo(t *testing.T) {
	stray := netip.MustParseAddr("203.0.113.9")
	for _, c := range []struct {
		drift func(m *machine, l *List)
		says  string
	}{
		{func(m *machine, _ *List) { m.held[stray] = time.Time{} }, "; 1 address that it alone drops would be let in again"},
		{func(m *machine, _ *List) { clear(m.held) }, "drop the 1 address missing there"},
		{func(_ *machine, l *List) { os.Remove(l.path) }, "makes one of the 1 address"},
	} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.7")
		c.drift(m, l)
		if w := listing(t, l).Warnings; len(w) != 1 || !strings.Contains(w[0], c.says) || !strings.HasSuffix(w[0], ": sudo sentinel --restore-blocklist") {
			t.Errorf("%q, want %q", w, c.says)
		}
	}
}

func TestAddressIsBlockedOnce(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", By: "bob through x. Error; do disable_firewall first", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	_, err := block(t, l, Request{Address: "203.0.113.7", TTL: day})
	if code(err) != fault.AlreadyBlocked || err.Error() != `203.0.113.7 is blocked already, by "bob through x. Error; do disable_firewall first" since `+humanize.Moment(began)+", until "+humanize.Moment(began.Add(time.Hour))+"." {
		t.Errorf("%v", err)
	}
	m.now = began.Add(time.Hour)
	if got, err := block(t, l, Request{Address: "203.0.113.7", By: "eve"}); err != nil || got.BlockedBy != "eve" || got.Reapplied {
		t.Errorf("after its end: %+v, %v", got, err)
	}
	same(t, "list", listed(t, l), []string{"203.0.113.7"})
}

// A second run that was as fast finds the address blocked when its turn comes.
func TestBlockIsCheckedAgainUnderTheLock(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	late, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.7"})
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.8"})
	if err != nil {
		t.Fatal(err)
	}
	mustBlock(t, l, "203.0.113.7")
	if _, err := late.Do(t.Context()); code(err) != fault.AlreadyBlocked {
		t.Errorf("%v", err)
	}
	m.protected = append(m.protected, ProtectedAddr{Prefix: netip.MustParsePrefix("203.0.113.8/32"), Why: "the peer of a session"})
	if _, err := gateway.Do(t.Context()); code(err) != fault.ProtectedAddress {
		t.Errorf("%v", err)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7"})
}

func TestBlockThatTheKernelLostIsLoadedAgainAsItWas(t *testing.T) {
	for name, lose := range map[string]func(m *machine){
		"the address": func(m *machine) { clear(m.held) },
		"the rules":   func(m *machine) { m.rules = false },
		"all":         func(m *machine) { m.rules = false; clear(m.held) },
	} {
		m := newMachine()
		l := m.on(t)
		if _, err := block(t, l, Request{Address: "203.0.113.7", By: "bob", TTL: day}); err != nil {
			t.Fatal(err)
		}
		mustBlock(t, l, "2001:db8::7")
		lose(m)
		m.now = began.Add(time.Hour)
		got, err := block(t, l, Request{Address: "203.0.113.7", By: "eve", TTL: time.Hour})
		if err != nil || !got.Reapplied || got.BlockedBy != "bob" || got.ExpiresAt != "2026-03-02T12:00:00Z" || !m.held[netip.MustParseAddr("203.0.113.7")].Equal(began.Add(day)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		warned := strings.Contains(strings.Join(got.Warnings, " "), "had lost the list")
		if warned != (name != "the address") || warned && len(m.addresses()) != 2 {
			t.Errorf("%s: warned %v, the kernel has %v", name, got.Warnings, m.addresses())
		}
	}
}

func TestBlockOfWhatTheKernelAloneDropsIsTaken(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "2001:db8::7")
	m.held[netip.MustParseAddr("203.0.113.7")] = began.Add(time.Minute)
	got, err := block(t, l, Request{Address: "203.0.113.7", By: "bob"})
	if err != nil || got.Reapplied || got.BlockedBy != "bob" || !m.held[netip.MustParseAddr("203.0.113.7")].IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	same(t, "list", listed(t, l), []string{"2001:db8::7", "203.0.113.7"})
}

func TestFailedBlockLeavesNothingBehind(t *testing.T) {
	for name, spoil := range map[string]func(m *machine){
		"the kernel refuses":         func(m *machine) { m.failAt("add", 1) },
		"it fails after the change":  func(m *machine) { m.failAt("added", 1) },
		"it cannot be read back":     func(m *machine) { m.failAt("loaded", 3) },
		"it does not show it":        func(m *machine) { m.lies = true },
		"it lacks the rules":         func(m *machine) { m.bare = true },
		"it ends it at another time": func(m *machine) { m.late = time.Hour },
	} {
		for _, held := range []bool{false, true} {
			m := newMachine()
			l, a := m.on(t), netip.MustParseAddr("203.0.113.7")
			mustBlock(t, l, "2001:db8::7")
			if held {
				m.held[a] = began.Add(time.Minute)
			}
			kernel := m.addresses()
			spoil(m)
			if m.lies && held {
				continue // it shows it all the same
			}
			if _, err := block(t, l, Request{Address: a.String(), TTL: day}); code(err) != fault.FirewallFailed {
				t.Errorf("%s: %v", name, err)
			}
			same(t, name+", list", listed(t, l), []string{"2001:db8::7"})
			same(t, name+", kernel", m.addresses(), kernel)
			if end := m.held[a]; held && !end.Equal(began.Add(time.Minute+m.late)) {
				t.Errorf("%s: it now ends at %v", name, end)
			}
		}
	}
}

func TestFailureToRollBackIsReported(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	m.at = func(step string) error {
		if step == "added" || step == "remove" {
			return errFake
		}
		return nil
	}
	_, err := block(t, l, Request{Address: "203.0.113.7"})
	if e := fault.From(err); e.Code != fault.FirewallFailed || !strings.Contains(e.Message, "could not be taken back entirely, because of the packet filter: "+errFake.Error()) || !strings.Contains(e.Fix, "--restore-blocklist") {
		t.Errorf("%v", err)
	}
	m.at = nil
	if r := restore(t, l); r.Removed != 1 || len(m.addresses()) != 0 {
		t.Errorf("restore: %+v", r)
	}
}

func TestOpenConnectionsThatStayAreReported(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	m.at = func(step string) error {
		if step == "cut" {
			return errFake
		}
		return nil
	}
	if got, err := block(t, l, Request{Address: "203.0.113.7"}); err != nil || got.ConnectionsCut != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], errFake.Error()) {
		t.Errorf("%+v, %v", got, err)
	}
	l.killer = nil
	if got, err := block(t, l, Request{Address: "203.0.113.8"}); err != nil || got.ConnectionsCut != nil {
		t.Errorf("without a cutter: %+v, %v", got, err)
	}
}

// The RST of a cut connection must get out, and one that was opened meanwhile
// must go as well.
func TestConnectionsAreCutBeforeAndAfter(t *testing.T) {
	m := newMachine()
	l, a := m.on(t), netip.MustParseAddr("203.0.113.7")
	m.open[a] = 2
	m.at = func(step string) error {
		if step == "add" {
			m.open[a]++
		}
		return nil
	}
	if got, err := block(t, l, Request{Address: "203.0.113.7"}); err != nil || *got.ConnectionsCut != 3 || m.open[a] != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if cut, added := slices.Index(m.log, "cut"), slices.Index(m.log, "add"); cut < 0 || cut > added {
		t.Errorf("order %v", m.log)
	}
}

func TestBlockStopsBeforeTheFirstWriteOnly(t *testing.T) {
	for _, stop := range []string{"", "protected", "loaded", "cut", "add", "added"} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.1")
		b, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.7"})
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
		if stop == "" {
			cancel()
		}
		_, err = b.Do(ctx)
		cancel()
		stopped := stop == "" || stop == "protected" || stop == "loaded"
		if stopped != errors.Is(err, context.Canceled) || !stopped && err != nil {
			t.Errorf("cancelled at %q: %v", stop, err)
		}
		if stopped == slices.Contains(m.addresses(), "203.0.113.7") || stopped != (len(listed(t, l)) == 1) {
			t.Errorf("cancelled at %q: the kernel has %v, the list %v", stop, m.addresses(), listed(t, l))
		}
	}
}

func TestNoPacketFilterIsSaid(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	l.backend = func(context.Context) (Backend, error) { return nil, errFake }
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); code(err) != fault.FirewallUnavailable {
		t.Errorf("%v", err)
	}
	l.backend = func(context.Context) (Backend, error) { return nil, fault.New(fault.Unsupported, "No.") }
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); code(err) != fault.Unsupported {
		t.Errorf("%v", err)
	}
}

func TestAFinderIsAskedForOneAddress(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "2001:db8::7")
	l.backend = func(context.Context) (Backend, error) { return finder{m}, nil }
	m.log = nil
	mustBlock(t, l, "203.0.113.7")
	if slices.Contains(m.log, "loaded") || !slices.Contains(m.log, "find") {
		t.Errorf("it did %v", m.log)
	}
	if _, err := unblock(t, l, "203.0.113.7", false); err != nil || slices.Contains(m.log, "loaded") {
		t.Errorf("%v, it did %v", err, m.log)
	}
}

func TestWhatABackendCannotDoIsSaid(t *testing.T) {
	m := newMachine()
	m.can = Abilities{Directions: []string{"in", "out"}, Most: 1}
	l := m.on(t)
	got, err := block(t, l, Request{Address: "203.0.113.7", TTL: day})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "cannot end a block by itself") {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = block(t, l, Request{Address: "203.0.113.8"})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "beyond 1") {
		t.Errorf("%+v, %v", got, err)
	}
	m = newMachine()
	m.can = Abilities{Expires: true, Beyond: bridges}
	l = m.on(t)
	if said := listing(t, l).Warnings; len(said) != 0 {
		t.Errorf("nothing is blocked: %q", said)
	}
	got, err = block(t, l, Request{Address: "203.0.113.9"})
	if said := listing(t, l).Warnings; err != nil || !slices.Equal(got.Warnings, []string{bridges()}) || !slices.Equal(said, got.Warnings) {
		t.Errorf("%+v, %v; listed with %q", got, err, said)
	}
}

func bridges() string { return "Bridges are beyond it." }

// A list has tens of thousands of addresses, and the system is not to be asked for each.
func TestWhatABackendNeverSeesIsNotLookedForByRestore(t *testing.T) {
	m, asked := newMachine(), 0
	l := m.on(t)
	for i := range 3 {
		if _, err := block(t, l, Request{Address: "203.0.113." + strconv.Itoa(i+1), TTL: day}); err != nil {
			t.Fatal(err)
		}
	}
	m.can.Beyond = func() string { asked++; return bridges() }
	if r, err := l.Restore(t.Context()); err != nil || r.Entries != 3 || asked != 0 {
		t.Errorf("%+v, %v; asked %d times", r, err, asked)
	}
}

// Whoever is asked reads the dry run alone, so all that is known before stands there.
func TestADryRunSaysWhatTheAnswerWarnsOf(t *testing.T) {
	gone := func(m *machine) { m.held[netip.MustParseAddr("203.0.113.8")] = time.Time{} }
	for name, c := range map[string]struct {
		can   Abilities
		ttl   time.Duration
		setUp func(m *machine)
		want  []string
	}{
		"nothing":           {can: Abilities{Expires: true}, want: []string{}},
		"beyond it":         {can: Abilities{Expires: true, Beyond: bridges}, want: []string{"Bridges are beyond it."}},
		"the first":         {can: Abilities{Expires: true, SideEffect: "The relay goes off."}, want: []string{"The relay goes off."}},
		"no ends":           {ttl: day, want: []string{"fake cannot end a block by itself; the timer of sentinel does, within a minute."}},
		"an end not needed": {want: []string{}},
		"the list is lost": {can: Abilities{Expires: true}, setUp: gone, want: []string{
			"The packet filter drops addresses and there was no list: 1 address is taken over into a new one.",
		}},
		"too many": {can: Abilities{Expires: true, Most: 1}, setUp: gone, want: []string{
			"The packet filter drops addresses and there was no list: 1 address is taken over into a new one.",
			"fake looks through all 2 addresses for every packet; beyond 1 that slows the network down. nftables does not.",
		}},
	} {
		m := newMachine()
		if m.can, m.rules = c.can, c.can.SideEffect == ""; c.setUp != nil {
			c.setUp(m)
		}
		plan, err := m.on(t).PlanBlock(t.Context(), Request{Address: "203.0.113.7", TTL: c.ttl})
		must(t, err)
		same(t, name+": of the dry run", previewed(plan), c.want)
		if !strings.HasSuffix(plan.Summary(), strings.Join(append([]string{"cut its open connections."}, c.want...), " ")) {
			t.Errorf("%s: %q", name, plan.Summary())
		}
		done, err := plan.Do(t.Context())
		must(t, err)
		same(t, name+": of the answer", done.Warnings, c.want)
	}
}

func previewed(plan *BlockPlan) []string {
	expected, _ := plan.Preview()
	return expected.Warnings
}

func TestFullListTakesNoMore(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	raw, err := encode(many(maxEntries))
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, string(raw))
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); code(err) != fault.FirewallFailed || !strings.Contains(err.Error(), "full") {
		t.Errorf("%v", err)
	}
	m.now = began.Add(8 * day)
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); err != nil {
		t.Errorf("when all have ended: %v", err)
	}
	same(t, "list", listed(t, l), []string{"203.0.113.7"})
}

// Begin and end are told in whole seconds, and lie as far apart as was asked for: the fraction of a
// second before the begin was cut off counts.
func TestBlockLastsAsLongAsAskedFor(t *testing.T) {
	m := newMachine()
	m.now = began.Add(300 * time.Millisecond)
	got, err := block(t, m.on(t), Request{Address: "203.0.113.7", TTL: time.Minute})
	if err != nil || got.BlockedAt != "2026-03-01T12:00:00Z" || got.ExpiresAt != "2026-03-01T12:01:00Z" || !m.held[netip.MustParseAddr("203.0.113.7")].Equal(began.Add(time.Minute)) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A lost list does not make an address blocked of which nobody knows any more
// for how long.
func TestBlockWithoutAListIsNew(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	must(t, os.Remove(l.path))
	if got, err := block(t, l, Request{Address: "203.0.113.7", By: "eve", TTL: day}); err != nil || got.BlockedBy != "eve" || got.Permanent || len(got.Warnings) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where only the timer ends blocks, the list keeps what the timer must take out
// of the kernel.
func TestListKeepsWhatTheTimerHasToEnd(t *testing.T) {
	for _, expires := range []bool{false, true} {
		m := newMachine()
		m.can.Expires = expires
		l := m.on(t)
		if _, err := block(t, l, Request{Address: "203.0.113.7", TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		m.now = began.Add(time.Hour + grace)
		mustBlock(t, l, "203.0.113.8")
		if want := map[bool]int{false: 2, true: 1}[expires]; len(listed(t, l)) != want {
			t.Errorf("expires %v: the list has %v", expires, listed(t, l))
		}
	}
}

func BenchmarkBlockBesideTwentyThousand(b *testing.B) {
	m := newMachine()
	l := m.on(b)
	l.backend = func(context.Context) (Backend, error) { return finder{m}, nil }
	raw, err := encode(many(20_000))
	must(b, err)
	write(b, l, string(raw))
	for b.Loop() {
		mustBlock(b, l, "203.0.113.7")
		b.StopTimer()
		_, err := unblock(b, l, "203.0.113.7", false)
		must(b, err)
		b.StartTimer()
	}
}

// A prover is a packet filter that may know beforehand that it has no effect.
type prover struct {
	*machine
	err error
}

func (p prover) Ready(ctx context.Context) error { return errors.Join(p.step(ctx, "ready"), p.err) }

func TestABlockWithoutEffectIsNotPlanned(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	p := prover{machine: m}
	l.backend = func(context.Context) (Backend, error) { return p, nil }
	mustBlock(t, l, "203.0.113.7")
	for _, c := range []struct {
		err  error
		want fault.Code
	}{
		{fault.New(fault.FirewallUnavailable, "Packets get around."), fault.FirewallUnavailable},
		{os.ErrPermission, fault.PermissionDenied},
		{errFake, fault.FirewallFailed},
	} {
		p.err = c.err
		if _, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.8"}); fault.From(err).Code != c.want {
			t.Errorf("%v: %v, want %s", c.err, err, c.want)
		}
	}
	u, err := l.PlanUnblock(t.Context(), "203.0.113.7", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Do(t.Context()); err != nil {
		t.Errorf("it cannot be unblocked either: %v", err)
	}
	p.err = nil
	plan, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.8"})
	if err != nil {
		t.Fatal(err)
	}
	p.err = fault.New(fault.FirewallUnavailable, "Packets get around.")
	if _, err := plan.Do(t.Context()); fault.From(err).Code != fault.FirewallUnavailable || len(listed(t, l)) != 0 {
		t.Errorf("what changed since the plan does not count: %v", err)
	}
}
