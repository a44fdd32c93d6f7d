// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func TestListingOfNothing(t *testing.T) {
	m := newMachine()
	raw, err := json.Marshal(listing(t, m.on(t)))
	want := `{"ips":[],"ips_total":0,"entries":[],"entries_total":0,"truncated":false,"backend":"fake","directions":["in","out","forward"],` +
		`"kernel_ends_blocks":true,"in_sync":true,"warnings":[],"unavailable":[]}`
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestListingIsNewestFirstAndSaysWhatTheKernelDoes(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	for i, a := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"} {
		m.now = began.Add(time.Duration(i) * time.Minute)
		if _, err := block(t, l, Request{Address: a, By: "bob", TTL: time.Duration(i) * time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	m.now = began.Add(90 * time.Minute)                                                                              // .2 has ended
	delete(m.held, netip.MustParseAddr("203.0.113.3"))                                                               // lost
	m.protected = append(m.protected, ProtectedAddr{Prefix: netip.MustParsePrefix("203.0.113.4/32"), Why: "a peer"}) // will be suspended
	m.held[netip.MustParseAddr("2001:db8::7")] = time.Time{}                                                         // of nobody
	before := listing(t, l)
	same(t, "ips", before.IPs, []string{"203.0.113.4", "203.0.113.1", "2001:db8::7"})
	same(t, "missing", before.Drift.Missing, []string{"203.0.113.3"})
	same(t, "unlisted", before.Drift.Unlisted, []string{"2001:db8::7"})
	if *before.InSync || before.IPsTotal != 3 || before.EntriesTotal != 3 || !before.Drift.RulesInPlace || len(before.Warnings) != 1 {
		t.Errorf("%+v", before)
	}
	restore(t, l)
	after := listing(t, l)
	same(t, "ips", after.IPs, []string{"203.0.113.3", "203.0.113.1"})
	var rows []string
	for _, e := range after.Entries {
		rows = append(rows, fmt.Sprintln(e.IP, e.Permanent, e.ExpiresAt, *e.InKernel, e.Suspended, e.SuspendedBecause))
	}
	same(t, "rows", rows, []string{
		"203.0.113.4 false 2026-03-01T15:03:00Z false true it is a peer\n",
		"203.0.113.3 false 2026-03-01T14:02:00Z true false \n",
		"203.0.113.1 true  true false \n",
	})
	if !*after.InSync || after.Drift != nil || len(after.Warnings) != 0 {
		t.Errorf("%+v", after)
	}
}

func TestWithoutItsRulesTheKernelBlocksNothing(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	m.rules = false
	if got := listing(t, l); len(got.IPs) != 0 || *got.Entries[0].InKernel || *got.InSync || got.Drift.RulesInPlace || got.Drift.MissingTotal != 1 {
		t.Errorf("%+v", got)
	}
}

func TestListStandsAloneWithoutRoot(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7", "203.0.113.8")
	for _, c := range []struct {
		name string
		deny func()
	}{
		{"not readable without root", func() { m.at = func(string) error { return &fs.PathError{Op: "netlink", Err: fs.ErrPermission} } }},
		{"No packet filter", func() { l.backend = func(context.Context) (Backend, error) { return nil, errFake } }},
	} {
		c.deny()
		got := listing(t, l)
		if len(got.IPs) != 2 || got.Entries[0].InKernel != nil || got.InSync != nil || got.Drift != nil || len(got.Unavailable) != 2 || !strings.Contains(got.Unavailable[0].Reason, c.name) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestListingIsBoundedUnlessAskedForAll(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	raw, err := encode(many(1200))
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, string(raw))
	got := listing(t, l)
	if len(got.IPs) != 0 || len(got.Entries) != 50 || got.EntriesTotal != 1200 || !got.Truncated || len(got.Drift.Missing) != 50 || got.Drift.MissingTotal != 1200 {
		t.Errorf("%d addresses, %d of %d entries, %+v", len(got.IPs), len(got.Entries), got.EntriesTotal, got.Drift)
	}
	restore(t, l)
	if got := listing(t, l); len(got.IPs) != 500 || got.IPsTotal != 1200 || !got.Truncated || !*got.InSync {
		t.Errorf("%d of %d addresses, %+v", len(got.IPs), got.IPsTotal, got.Drift)
	}
	all, err := l.Read(t.Context(), 0, 0)
	if err != nil || len(all.IPs) != 1200 || len(all.Entries) != 1200 || all.Truncated {
		t.Errorf("all: %d addresses, %d entries, %v", len(all.IPs), len(all.Entries), err)
	}
}

func TestDamagedListIsNotListedAsEmpty(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	write(t, l, golden[:150])
	_, err := l.Read(t.Context(), DefaultIPs, DefaultEntries)
	if code(err) != fault.StateCorrupt || len(l.quarantined()) != 0 {
		t.Errorf("%v, set aside %v", err, l.quarantined())
	}
}

// Where only the timer ends blocks, one whose time has come is no longer
// listed as blocked although the packet filter still has it.
func TestEndedBlockThatWaitsForTheTimerIsUnlisted(t *testing.T) {
	m := newMachine()
	m.can.Expires = false
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	m.now = began.Add(time.Hour)
	if got := listing(t, l); len(got.IPs) != 0 || len(got.Entries) != 0 || got.Drift.UnlistedTotal != 1 {
		t.Errorf("%+v", got)
	}
	if r := restore(t, l); r.Expired != 0 || r.Removed != 1 || len(m.held) != 0 || r.Entries != 0 {
		t.Errorf("%+v", r)
	}
}

// List and kernel round; that one of them is a second late is no difference.
func TestBlockAboutToEndIsNoDifference(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	if _, err := block(t, l, Request{Address: "203.0.113.7", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	m.held[netip.MustParseAddr("203.0.113.7")] = began.Add(time.Hour + time.Second)
	m.now = began.Add(time.Hour)
	if got := listing(t, l); !*got.InSync || len(got.IPs) != 0 {
		t.Errorf("%+v, %+v", got, got.Drift)
	}
}
