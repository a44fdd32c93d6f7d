// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
)

func TestRestoreLoadsTheListAfterABoot(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.1")
	for a, ttl := range map[string]time.Duration{"203.0.113.2": time.Hour, "203.0.113.3": day} {
		if _, err := block(t, l, Request{Address: a, TTL: ttl}); err != nil {
			t.Fatal(err)
		}
	}
	clear(m.held)
	m.rules = false
	m.now = began.Add(2 * time.Hour)
	r := restore(t, l)
	if r.Added != 2 || r.Expired != 0 || r.Entries != 2 || r.Removed+r.Suspended+r.Resumed+r.Adopted+r.Corrected != 0 || r.Backend != "fake" {
		t.Errorf("%+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.1", "203.0.113.3"})
	if !m.rules || !m.held[netip.MustParseAddr("203.0.113.1")].IsZero() || !m.held[netip.MustParseAddr("203.0.113.3")].Equal(began.Add(day)) {
		t.Errorf("the kernel: %v", m.held)
	}
	m.log = nil
	if r := restore(t, l); r.Added+r.Removed+r.Expired != 0 || slices.Contains(m.log, "add") {
		t.Errorf("once more: %+v, %v", r, m.log)
	}
}

// How long it takes to find out what this machine depends on is up to the processes of others.
func TestNobodyWaitsForWhatTheMachineDependsOn(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.1")
	m.log = nil
	m.at = func(step string) error {
		if step != "protected" {
			return nil
		}
		release, err := lockfile.Exclude(t.Context(), l.lockPath(), testenv.HangLimit)
		if err != nil {
			t.Errorf("the list is locked meanwhile: %v", err)
			return nil
		}
		release()
		return nil
	}
	for what, change := range map[string]func(){
		"restore":                 func() { restore(t, l) },
		"block":                   func() { mustBlock(t, l, "203.0.113.2") },
		"block after all is lost": func() { clear(m.held); m.rules = false; mustBlock(t, l, "203.0.113.3") },
	} {
		m.log = nil
		if change(); !slices.Contains(m.log, "protected") {
			t.Errorf("%s did not ask for it: %v", what, m.log)
		}
	}
}

func TestRestoreHandsOverAllAtOnce(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	raw, err := encode(many(2500))
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, string(raw))
	if r := restore(t, l); r.Added != 2500 || len(m.held) != 2500 || m.adds != 1 {
		t.Errorf("%+v, %d calls", r, m.adds)
	}
	// One part that fails does not keep back the rest, and is reported.
	clear(m.held)
	first := true
	m.at = func(step string) error {
		if step == "add" && first {
			first = false
			return errFake
		}
		return nil
	}
	if _, err := l.Restore(t.Context()); code(err) != fault.FirewallFailed || len(m.held) != 1500 {
		t.Errorf("%v, the kernel has %d", err, len(m.held))
	}
}

func TestRestoreSuspendsWhatBecameProtectedAndResumesIt(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7", "203.0.113.8")
	before := m.protected
	m.protected = append(slices.Clone(before), ProtectedAddr{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Why: "the default gateway"})
	if r := restore(t, l); r.Suspended != 1 || r.Removed != 1 || r.Entries != 2 {
		t.Errorf("%+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.8"})
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); code(err) != fault.ProtectedAddress {
		t.Errorf("%v", err)
	}
	if r := restore(t, l); r.Suspended != 0 || r.Resumed != 0 {
		t.Errorf("once more: %+v", r)
	}
	m.unknown, m.protected = errFake, before
	if r := restore(t, l); r.Resumed != 0 || len(r.Unavailable) != 1 || len(m.held) != 1 {
		t.Errorf("without knowing: %+v", r)
	}
	m.unknown = nil
	if r := restore(t, l); r.Resumed != 1 || r.Added != 1 {
		t.Errorf("%+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7", "203.0.113.8"})
}

// A block that is in force cuts no session, and whoever is on the machine can make it look so. One that another
// tool has flushed gives way to a session that may be the one of whoever restores it.
func TestNoSessionLiftsABlockThatIsInForce(t *testing.T) {
	at := netip.MustParseAddr("203.0.113.7")
	for name, c := range map[string]struct {
		whose             sessions.Ownership
		flushed, gateway  bool
		suspended, stayed int
	}{
		"another's":                                          {whose: sessions.Others, stayed: 1},
		"possibly the caller's":                              {whose: sessions.PossiblyOwn, stayed: 1},
		"the caller's":                                       {whose: sessions.Own, stayed: 1},
		"another's, of a block that was flushed":             {whose: sessions.Others, flushed: true, stayed: 1},
		"the caller's, of a block that was flushed":          {whose: sessions.Own, flushed: true, suspended: 1},
		"possibly the caller's, of a block that was flushed": {whose: sessions.PossiblyOwn, flushed: true, suspended: 1},
		"another's, of a gateway":                            {whose: sessions.Others, gateway: true, suspended: 1},
		"the caller's, of a gateway":                         {whose: sessions.Own, gateway: true, suspended: 1},
	} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, at.String())
		found, err := ProtectSessions(model(c.whose))
		if err != nil {
			t.Fatal(err)
		}
		m.protected = append(found, m.protected...)
		if c.gateway {
			m.protected = append(m.protected, Protect(at, WhyGateway))
		}
		if c.flushed {
			clear(m.held)
		}
		pending, err := l.Pending(t.Context())
		if err != nil || pending.Suspended != c.suspended {
			t.Errorf("%s: %+v would be done, %v", name, pending, err)
		}
		if r := restore(t, l); r.Suspended != c.suspended || len(m.held) != c.stayed {
			t.Errorf("%s: %+v, held %v", name, r, m.held)
		}
	}
}

// A neighbour who is blocked announces itself as a router, or as a name server.
func TestNobodyLiftsTheirBlockByAnAnnouncement(t *testing.T) {
	for name, c := range map[string]struct {
		protected []ProtectedAddr
		suspended int
	}{
		"beside another gateway":         {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::1"), WhyGateway), Protect(netip.MustParseAddr("fe80::7"), WhyGateway)}, 0},
		"beside another name server":     {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), WhyNameServer), Protect(netip.MustParseAddr("fe80::1"), WhyNameServer)}, 0},
		"the only gateway":               {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), WhyGateway), Protect(netip.MustParseAddr("fe80::1"), WhyNameServer)}, 1},
		"the only gateway of IPv6":       {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), WhyGateway), Protect(netip.MustParseAddr("192.0.2.9"), WhyGateway)}, 1},
		"beside another that is blocked": {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), WhyGateway), Protect(netip.MustParseAddr("fe80::8"), WhyGateway)}, 2},
		"beside another upstream":        {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), WhyUpstream), Protect(netip.MustParseAddr("fe80::1"), WhyUpstream)}, 0},
		"the only upstream":              {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), WhyUpstream)}, 1},
		"a server of a lease":            {[]ProtectedAddr{announced("fe80::7", "x")}, 0},
		"one of a lease, and the router": {[]ProtectedAddr{announced("fe80::7", "x"), Protect(netip.MustParseAddr("fe80::7"), WhyGateway)}, 1},
		"a server of files":              {[]ProtectedAddr{Protect(netip.MustParseAddr("fe80::7"), "x"), Protect(netip.MustParseAddr("fe80::1"), "x")}, 1},
	} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "fe80::7", "fe80::8")
		before := m.protected
		m.protected = append(slices.Clone(before), c.protected...)
		if r := restore(t, l); r.Suspended != c.suspended || len(m.held) != 2-c.suspended {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func announced(address, why string) ProtectedAddr {
	return Server{Why: why, Announced: true}.At(netip.MustParseAddr(address))
}

// What a lease names is not blocked, but a block of it that is in force stays, and one that an earlier version
// has suspended for it comes back.
func TestALeaseKeepsNewBlocksAwayAlone(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	before := m.protected
	m.protected = append(slices.Clone(before), Protect(netip.MustParseAddr("203.0.113.7"), "the DHCP server"))
	if r := restore(t, l); r.Suspended != 1 {
		t.Errorf("%+v", r)
	}
	m.protected = append(before, announced("203.0.113.7", "the DHCP server"), announced("203.0.113.8", "the DHCP server"))
	if r := restore(t, l); r.Resumed != 1 || r.Suspended != 0 {
		t.Errorf("%+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7"})
	if _, err := block(t, l, Request{Address: "203.0.113.8"}); code(err) != fault.ProtectedAddress {
		t.Errorf("%v", err)
	}
}

func TestForcedBlockIsNotSuspendedButForItself(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "192.0.2.1", Force: true}); err != nil {
		t.Fatal(err)
	}
	if r := restore(t, l); r.Suspended != 0 || len(m.held) != 1 {
		t.Errorf("%+v", r)
	}
	m.protected[0].Own = true
	if r := restore(t, l); r.Suspended != 1 || len(m.held) != 0 {
		t.Errorf("as an own address: %+v", r)
	}
	m.protected = m.protected[1:]
	if got, err := block(t, l, Request{Address: "192.0.2.1"}); err != nil || !got.Reapplied || got.Suspended {
		t.Errorf("%+v, %v", got, err)
	}
	// Force where nothing had to be overruled gives no licence for later.
	if got, err := block(t, l, Request{Address: "203.0.113.7", Force: true}); err != nil || got.Forced {
		t.Errorf("%+v, %v", got, err)
	}
}

// Who asks for the end of somebody's session says nothing of what the machine comes to depend on later.
func TestABlockThatEndsASessionIsNotForced(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	others := Protect(netip.MustParseAddr("203.0.113.7"), "the other end of a session")
	others.OthersSession, others.Sessions = true, &fault.Protected{}
	m.protected = append(m.protected, others)
	if got, err := block(t, l, Request{Address: "203.0.113.7", EndSession: true}); err != nil || got.Forced {
		t.Errorf("%+v, %v", got, err)
	}
	if r := restore(t, l); r.Suspended != 0 || len(m.held) != 1 {
		t.Errorf("for the session that it ends: %+v", r)
	}
	m.protected = append(m.protected, Protect(netip.MustParseAddr("203.0.113.7"), WhyGateway))
	if r := restore(t, l); r.Suspended != 1 || len(m.held) != 0 {
		t.Errorf("as the only gateway: %+v", r)
	}
	m.protected = m.protected[:len(m.protected)-1]
	if r := restore(t, l); r.Suspended != 0 || r.Resumed != 0 {
		t.Errorf("while the session lasts: %+v", r)
	}
	if got, err := block(t, l, Request{Address: "203.0.113.7", EndSession: true}); err != nil || !got.Reapplied || got.Forced {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// What is loaded beside a new block is measured by what restores know: name servers say who is behind a name, and
// would suspend what they like.
func TestNamesSuspendNothing(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	m.held, m.rules = map[netip.Addr]time.Time{}, false
	m.named = []ProtectedAddr{Protect(netip.MustParseAddr("203.0.113.7"), "the directory server of SSSD")}
	mustBlock(t, l, "203.0.113.8")
	same(t, "kernel", m.addresses(), []string{"203.0.113.7", "203.0.113.8"})
	if got := listing(t, l).Entries; slices.ContainsFunc(got, func(r Row) bool { return r.Suspended }) {
		t.Errorf("%+v", got)
	}
	if _, err := block(t, l, Request{Address: "203.0.113.7"}); code(err) != fault.ProtectedAddress {
		t.Errorf("a new block: %v", err)
	}
}

func TestRestoreTakesOutWhatNobodyListed(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	m.held[netip.MustParseAddr("2001:db8::7")] = time.Time{}
	if r := restore(t, l); r.Removed != 1 {
		t.Errorf("%+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7"})
}

func TestLostListIsMadeFromTheKernel(t *testing.T) {
	for _, how := range []string{"restore", "block"} {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.7")
		if _, err := block(t, l, Request{Address: "203.0.113.8", TTL: day}); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(l.path); err != nil {
			t.Fatal(err)
		}
		if got := listing(t, l); got.Drift.UnlistedTotal != 2 || len(got.IPs) != 2 {
			t.Errorf("before: %+v", got)
		}
		want := []string{"203.0.113.7", "203.0.113.8"}
		if how == "restore" {
			if r := restore(t, l); r.Adopted != 2 || r.Removed != 0 {
				t.Errorf("%+v", r)
			}
		} else {
			want = append(want, "203.0.113.9")
			got, err := block(t, l, Request{Address: "203.0.113.9"})
			if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "taken over") {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if r := restore(t, l); r.Removed != 0 || r.Added != 0 {
			t.Errorf("%s, then: %+v", how, r)
		}
		same(t, how+", list", listed(t, l), want)
		same(t, how+", kernel", m.addresses(), want)
		if got := listing(t, l); got.Entries[len(got.Entries)-1].BlockedBy != "unknown" || !*got.InSync {
			t.Errorf("%s: %+v", how, got)
		}
	}
}

func TestMachineWithoutAPacketFilterHasNothingToRestore(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	real := l.backend
	l.backend = func(context.Context) (Backend, error) { return nil, errFake }
	if r := restore(t, l); r.Backend != "" || r.Warnings == nil || r.Unavailable == nil {
		t.Errorf("%+v", r)
	}
	l.backend = real
	mustBlock(t, l, "203.0.113.7")
	l.backend = func(context.Context) (Backend, error) { return nil, errFake }
	if _, err := l.Restore(t.Context()); code(err) != fault.FirewallUnavailable {
		t.Errorf("with a list: %v", err)
	}
}

func TestKernelGetsTheListThoughTheDiskIsFull(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	if _, err := block(t, l, Request{Address: "203.0.113.8", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	clear(m.held)
	m.now = began.Add(time.Hour + grace)
	blockWrites(t, l)
	if r := restore(t, l); r.Added != 1 || r.Expired != 1 || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7"})
	same(t, "list", listed(t, l), []string{"203.0.113.7", "203.0.113.8"})
}

// A machine without a clock of its own boots in any year, and learns the time
// later.
func TestClockThatWasAheadAtBootTakesNoBlockOff(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	clear(m.held)
	m.now = began.Add(23 * time.Hour)
	if r := restore(t, l); r.Added+r.Expired+r.Entries != 0 || len(m.held) != 0 {
		t.Errorf("ahead: %+v", r)
	}
	mustBlock(t, l, "203.0.113.8")
	m.now = began.Add(30 * time.Minute)
	if r := restore(t, l); r.Added != 1 || r.Entries != 2 {
		t.Errorf("when the clock is right: %+v", r)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7", "203.0.113.8"})
	m.now = began.Add(time.Hour + grace)
	if r := restore(t, l); r.Expired != 1 || r.Entries != 1 {
		t.Errorf("at its end: %+v", r)
	}
	same(t, "list", listed(t, l), []string{"203.0.113.8"})
}

func TestWhatHasEndedGoesAtOnceWhereTheListGetsFull(t *testing.T) {
	entries := many(maxEntries / 2)
	for i := range entries[:1000] {
		entries[i].Ends = began
	}
	if got := staying(entries, began); len(got) != maxEntries/2-1000 {
		t.Errorf("%d stay", len(got))
	}
	if got := staying(entries[:2000], began); len(got) != 2000 {
		t.Errorf("%d stay", len(got))
	}
}

// Right after thousands of addresses the kernel shows a part of them.
func TestAPartialReadingIsReadAgain(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.1", "203.0.113.2", "203.0.113.3")
	clear(m.held)
	m.at = func(step string) error {
		if step == "added" {
			m.partial = 3
		}
		return nil
	}
	if r := restore(t, l); r.Added != 3 {
		t.Errorf("%+v", r)
	}
	m.partial = 1
	if got := listing(t, l); !*got.InSync {
		t.Errorf("listing: %+v", got.Drift)
	}
	m.partial = 1
	if r, err := l.Pending(t.Context()); err != nil || !r.Idle() {
		t.Errorf("pending: %+v, %v", r, err)
	}
	must(t, os.Remove(l.path))
	m.partial = 1
	if r := restore(t, l); r.Adopted != 3 || r.Removed != 0 {
		t.Errorf("adopted: %+v", r)
	}
	must(t, os.Remove(l.path))
	m.at = nil
	plan, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.4"})
	must(t, err)
	m.partial = 1
	_, err = plan.Do(t.Context())
	must(t, err)
	if got := listed(t, l); len(got) != 4 {
		t.Errorf("taken over: %v", got)
	}
}

// Everyone can read the list.
func TestNoSecretIsListed(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	for a, reason := range map[string]string{"203.0.113.20": "Authorization: Bearer hunter2abc", "203.0.113.21": "tried --password hunter2", "203.0.113.22": "mysql -phunter2"} {
		got, err := block(t, l, Request{Address: a, Reason: reason, By: "bob --token hunter2"})
		must(t, err)
		if strings.Contains(got.Reason+got.BlockedBy, "hunter2") {
			t.Errorf("answered: %+v", got)
		}
	}
	raw, err := os.ReadFile(l.path)
	must(t, err)
	if strings.Contains(string(raw), "hunter2") {
		t.Errorf("%s", raw)
	}
}

// The kernel counts time by itself, whatever is done to the clock on the wall.
func TestClockThatWasSetBackMakesNoBlockLonger(t *testing.T) {
	m := newMachine()
	l, a := m.on(t), netip.MustParseAddr("203.0.113.7")
	if _, err := block(t, l, Request{Address: a.String(), TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return m.now.Add(-day) }
	m.now = began.Add(30 * time.Minute)
	if r := restore(t, l); r.Corrected != 0 || !m.held[a].Equal(began.Add(time.Hour)) {
		t.Errorf("%+v, the kernel ends it at %v", r, m.held[a])
	}
	clear(m.held) // a reboot with a clock that is wrong
	restore(t, l)
	if left := m.held[a].Sub(m.now); left != time.Hour {
		t.Errorf("loaded for %v", left)
	}
	l.now = func() time.Time { return m.now }
	if r := restore(t, l); r.Corrected != 1 || !m.held[a].Equal(began.Add(time.Hour)) {
		t.Errorf("when the clock is right: %+v, the kernel ends it at %v", r, m.held[a])
	}
}

func TestRestoreCorrectsEnds(t *testing.T) {
	for _, c := range []struct{ list, kernel, want time.Duration }{
		{time.Hour, 0, time.Hour}, {0, time.Hour, 0}, {time.Hour, 2 * time.Hour, time.Hour},
		{time.Hour, 30 * time.Minute, 30 * time.Minute}, {time.Hour, time.Hour + time.Second, time.Hour + time.Second},
	} {
		m := newMachine()
		l, a := m.on(t), netip.MustParseAddr("203.0.113.7")
		if _, err := block(t, l, Request{Address: a.String(), TTL: c.list}); err != nil {
			t.Fatal(err)
		}
		m.held[a] = time.Time{}
		if c.kernel > 0 {
			m.held[a] = began.Add(c.kernel)
		}
		r := restore(t, l)
		got := time.Duration(0)
		if end := m.held[a]; !end.IsZero() {
			got = end.Sub(began)
		}
		if got != c.want || (r.Corrected == 1) != (c.kernel != c.want) {
			t.Errorf("%+v: ends after %v, %+v", c, got, r)
		}
	}
}

func TestRestoreSaysWhatTheKernelDidNotTake(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	clear(m.held)
	m.lies = true
	if _, err := l.Restore(t.Context()); code(err) != fault.FirewallFailed || !strings.Contains(err.Error(), "lacks 1 address of it") {
		t.Errorf("%v", err)
	}
}

func TestRestoreWaitsForTheOthers(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	release, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hasty := m.under(l.path)
	hasty.lockTimeout = shortWait
	if _, err := hasty.Restore(t.Context()); code(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
	release()
	if _, err := m.under(filepath.Clean(l.path)).Restore(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
}

func BenchmarkRestoreOfTwentyThousand(b *testing.B) {
	m := newMachine()
	l := m.on(b)
	raw, err := encode(many(20_000))
	must(b, err)
	write(b, l, string(raw))
	for b.Loop() {
		clear(m.held)
		if r := restore(b, l); r.Added != 20_000 {
			b.Fatalf("%+v", r)
		}
	}
}
