// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"context"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/blocklist"
	"sentinel/internal/blocklist/blocklisttest"
	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/pfctl"
)

// A fullMac is a Mac whose pf keeps state and whose other programs print what
// they print.
type fullMac struct {
	pf    *fakePF
	other programs
}

func (w fullMac) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path == pfctl.Program {
		return w.pf.Run(ctx, c)
	}
	return w.other.Run(ctx, c)
}

func newList(t *testing.T, f *fakePF) *blocklist.List {
	t.Helper()
	w := fullMac{f, mac()}
	dir := filepath.Join(t.TempDir(), "sentinel")
	backend := func(ctx context.Context) (blocklist.Backend, error) {
		return DetectBackend(ctx, Parts{Runner: w, StateDir: dir})
	}
	return blocklist.New(filepath.Join(dir, "blocklist.json"), backend, NewHostContext(w, 0, 900, t.TempDir()), ConnKiller{pfctl.New(w)}, nil)
}

func block(t *testing.T, l *blocklist.List, address string, ttl time.Duration) (blocklist.BlockResult, error) {
	t.Helper()
	plan, err := l.PlanBlock(t.Context(), blocklist.Request{Address: address, Reason: "a test", By: "root", TTL: ttl})
	if err != nil {
		return blocklist.BlockResult{}, err
	}
	return plan.Do(t.Context())
}

func TestTheLifeOfABlock(t *testing.T) {
	f := newFakePF(t)
	l := newList(t, f)
	f.states = []fakeState{{peers[0], here4}, {here4, peers[0]}}
	done, err := block(t, l, peers[0].String(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if done.Backend != "pf" || strings.Join(done.Directions, " ") != "in out forward" || done.ConnectionsCut == nil || *done.ConnectionsCut != 2 || done.InKernel == nil || !*done.InKernel {
		t.Errorf("%+v", done)
	}
	if len(done.Warnings) != 2 || !strings.Contains(done.Warnings[0], "iCloud Private Relay") || !strings.Contains(done.Warnings[1], "pf cannot end a block by itself") {
		t.Errorf("%q", done.Warnings)
	}
	f.both(t, peers[0], false)
	if _, err := block(t, l, peers[0].String(), 0); fault.From(err).Code != fault.AlreadyBlocked {
		t.Errorf("%v", err)
	}
	if _, err := block(t, l, peers[1].String(), 0); err != nil {
		t.Fatal(err)
	}
	listing, err := l.Read(t.Context(), 0, 0)
	if err != nil || listing.IPsTotal != 2 || listing.InSync == nil || !*listing.InSync || *listing.KernelEndsBlocks || len(listing.Warnings) != 1 {
		t.Errorf("%+v, %v", listing, err)
	}

	f.start()
	for _, p := range peers {
		f.both(t, p, true)
	}
	listing, err = l.Read(t.Context(), 0, 0)
	if err != nil || *listing.InSync || listing.Drift.MissingTotal != 2 || listing.Drift.RulesInPlace {
		t.Errorf("after a reboot: %+v, %v", listing, err)
	}
	restored, err := l.Restore(t.Context())
	if err != nil || restored.Added != 2 || restored.Entries != 2 {
		t.Errorf("%+v, %v", restored, err)
	}
	for _, p := range peers {
		f.both(t, p, false)
	}
	if again, err := l.Pending(t.Context()); err != nil || !again.Idle() {
		t.Errorf("%+v, %v", again, err)
	}

	for _, p := range peers {
		plan, err := l.PlanUnblock(t.Context(), p.String(), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.both(t, p, true)
	}
	if f.on || len(f.refs) != 0 || f.untouched() != nil {
		t.Errorf("on %v, references %v, %v", f.on, f.refs, f.untouched())
	}
	listing, err = l.Read(t.Context(), 0, 0)
	if err != nil || listing.IPsTotal != 0 || !*listing.InSync || len(listing.Warnings) != 0 {
		t.Errorf("%+v, %v", listing, err)
	}
	if pending, err := l.Pending(t.Context()); err != nil || !pending.Idle() {
		t.Errorf("an empty list has something to do: %+v, %v", pending, err)
	}
}

func TestWhatTheMachineLivesOnIsNotBlocked(t *testing.T) {
	f := newFakePF(t)
	l := newList(t, f)
	for _, address := range []string{"192.0.2.1", "192.0.2.53", "192.0.2.10", "203.0.113.20", "2001:db8::20", "127.0.0.1", "224.0.0.1", "192.0.2.255"} {
		if _, err := block(t, l, address, 0); fault.From(err).Code != fault.ProtectedAddress {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := block(t, l, "203.0.113.66", 0); err != nil { // who tries passwords
		t.Errorf("%v", err)
	}
}

// A plan already says that nothing would be in force, and nothing is changed.
func TestNothingIsPromisedWherePacketsGetAround(t *testing.T) {
	f := newFakePF(t)
	l := newList(t, f)
	if _, err := block(t, l, peers[0].String(), 0); err != nil {
		t.Fatal(err)
	}
	f.flushAll()
	runs := len(f.refs)
	_, err := l.PlanBlock(t.Context(), blocklist.Request{Address: peers[1].String()})
	if e := fault.From(err); e.Code != fault.FirewallUnavailable || !strings.Contains(e.Fix, "sudo pfctl -f /etc/pf.conf") {
		t.Errorf("%v", err)
	}
	if _, err := l.Restore(t.Context()); fault.From(err).Code != fault.FirewallUnavailable {
		t.Errorf("a restore: %v", err)
	}
	if len(f.refs) != runs {
		t.Errorf("%v", f.refs)
	}
	f.rules = stock
	if restored, err := l.Restore(t.Context()); err != nil || restored.Added != 0 {
		t.Errorf("%+v, %v", restored, err)
	}
	f.both(t, peers[0], false)
}

// The block is taken back whole where pf takes only a part of it.
func TestWhatPFDoesNotTakeIsTakenBack(t *testing.T) {
	codes := map[string]fault.Code{anchorArgs("-f -"): fault.PFReloadFailed}
	for args, said := range map[string]string{
		anchorArgs("-f -"):                    "stdin:1: syntax error\npfctl: Syntax error in config file: pf rules not loaded\n",
		anchorArgs("-t sentinel -T add -f -"): "pfctl: Cannot allocate memory.\n",
		"-E":                                  "pfctl: DIOCSTARTREF: Device busy\n",
	} {
		f := newFakePF(t)
		l := newList(t, f)
		f.answer = func(asked string, _ []byte) (sysexec.Result, error, bool) {
			return result(1, "", said), nil, asked == args
		}
		if _, err := block(t, l, peers[0].String(), 0); fault.From(err).Code != cmp.Or(codes[args], fault.FirewallFailed) {
			t.Errorf("%s: %v", args, err)
		}
		f.answer = nil
		if f.on || len(f.refs) != 0 || f.untouched() != nil {
			t.Errorf("%s: on %v, references %v, %v", args, f.on, f.refs, f.untouched())
		}
		if listing, err := l.Read(t.Context(), 0, 0); err != nil || listing.EntriesTotal != 0 {
			t.Errorf("%s: %+v, %v", args, listing, err)
		}
	}
}

// A full list has 100,000 addresses.
func TestAFullListIsLoadedAndReadBack(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	all := append(blocklisttest.Numbered(4, 50_000), blocklisttest.Numbered(6, 50_000)...)
	blocklisttest.Add(t, b, 0, all...)
	blocklisttest.Loaded(t, b, true, all...)
}

// What rules that are not Apple's switch off is said before the first block, and
// nothing of it is left after the last.
func TestWhatABlockSwitchesOffIsSaid(t *testing.T) {
	f := newFakePF(t)
	l := newList(t, f)
	plan := func(address netip.Addr) *blocklist.BlockPlan {
		t.Helper()
		p, err := l.PlanBlock(t.Context(), blocklist.Request{Address: address.String()})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if said := plan(peers[0]).Summary(); !strings.Contains(said, "iCloud Private Relay") || f.noRelay || f.noSkywalk {
		t.Errorf("%q; %v, %v", said, f.noRelay, f.noSkywalk)
	}
	if _, err := plan(peers[0]).Do(t.Context()); err != nil || !f.noRelay || !f.noSkywalk {
		t.Errorf("%v; %v, %v", err, f.noRelay, f.noSkywalk)
	}
	second := plan(peers[1])
	done, err := second.Do(t.Context())
	if err != nil || len(done.Warnings) != 0 || strings.Contains(second.Summary(), "Relay") {
		t.Errorf("it is said again: %q, %q, %v", second.Summary(), done.Warnings, err)
	}
	if listing, err := l.Read(t.Context(), 0, 0); err != nil || len(listing.Warnings) != 1 || !strings.Contains(listing.Warnings[0], "iCloud Private Relay") {
		t.Errorf("%q, %v", listing.Warnings, err)
	}
	for _, address := range peers[:2] {
		plan, err := l.PlanUnblock(t.Context(), address.String(), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.noRelay || f.noSkywalk {
		t.Errorf("off for nothing: %v, %v", f.noRelay, f.noSkywalk)
	}
	if listing, err := l.Read(t.Context(), 0, 0); err != nil || len(listing.Warnings) != 0 {
		t.Errorf("%q, %v", listing.Warnings, err)
	}
}
