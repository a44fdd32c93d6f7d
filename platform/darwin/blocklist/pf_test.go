// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/blocklist"
	"sentinel/internal/blocklist/blocklisttest"
	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/pfctl"
)

var (
	here4, here6 = netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:1::1")
	peers        = []netip.Addr{netip.MustParseAddr("198.51.100.2"), netip.MustParseAddr("2001:db8:1::2")}
	strangers    = []netip.Addr{netip.MustParseAddr("198.51.100.3"), netip.MustParseAddr("2001:db8:1::3")}
)

func newTestPF(t *testing.T, f *fakePF) *PF {
	t.Helper()
	return NewPF(Parts{Runner: f, StateDir: filepath.Join(t.TempDir(), "state")})
}

// both says whether a packet passes to and from an address: always, or never.
func (f *fakePF) both(t *testing.T, peer netip.Addr, want bool) {
	t.Helper()
	here := here4
	if peer.Is6() {
		here = here6
	}
	if in, out := f.passes(peer, here), f.passes(here, peer); in != want || out != want {
		t.Errorf("%s: packets pass in %v, out %v, want %v", peer, in, out, want)
	}
}

func TestPFKeepsTheContract(t *testing.T) {
	for name, old := range map[string]bool{"as macOS 26 prints": false, "as macOS 12 prints": true} {
		t.Run(name, func(t *testing.T) {
			f := newFakePF(t)
			f.old = old
			blocklisttest.Contract(t, subject(newTestPF(t, f), f))
		})
	}
}

func subject(b blocklist.Backend, f *fakePF) blocklisttest.Subject {
	return blocklisttest.Subject{
		Backend: b, Peers: peers, Strangers: strangers, Most: 20_000, LetsGo: true, Kept: true,
		Clean:  func(*testing.T) { f.start() },
		Passes: func(t *testing.T, peer netip.Addr) { f.both(t, peer, true) },
		Stops: func(t *testing.T, peer netip.Addr) {
			f.both(t, peer, false)
			for _, s := range strangers {
				f.both(t, s, true)
			}
		},
		Flush: func(*testing.T) { f.flushAll() },
		Overtake: func(*testing.T) {
			f.rules = slices.Insert(slices.Clone(stock), 1, "pass quick all flags S/SA keep state")
		},
		Repair: func(*testing.T) { f.rules = slices.Clone(stock) },
	}
}

func TestChoose(t *testing.T) {
	f := newFakePF(t)
	if b, err := DetectBackend(t.Context(), Parts{Runner: f}); err != nil || b.Name() != "pf" {
		t.Errorf("%v, %v", b, err)
	}
	f.notRoot = true
	if _, err := DetectBackend(t.Context(), Parts{Runner: f, EUID: 501}); err != nil {
		t.Errorf("without root: %v", err)
	}
	f.missing = true
	if _, err := DetectBackend(t.Context(), Parts{Runner: f}); fault.From(err).Code != fault.FirewallUnavailable {
		t.Errorf("without pfctl: %v", err)
	}
}

// The reference is what keeps pf on for us, beside those of others.
func TestReferences(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	held := func(want int, on bool) {
		t.Helper()
		if len(f.refs) != want || f.on != on {
			t.Errorf("%d references, on %v; want %d, %v", len(f.refs), f.on, want, on)
		}
	}
	blocklisttest.Add(t, b, 0, peers...)
	held(1, true)
	blocklisttest.Add(t, b, 0, peers...)
	held(1, true)
	blocklisttest.Remove(t, b, peers[0])
	held(1, true)
	blocklisttest.Remove(t, b, peers[1])
	held(0, false)
	blocklisttest.Remove(t, b, peers...)

	f.refs, f.on = []uint64{77}, true // somebody else's
	blocklisttest.Add(t, b, 0, peers...)
	held(2, true)
	blocklisttest.Remove(t, b, peers...)
	if held(1, true); f.refs[0] != 77 {
		t.Error("the reference of somebody else is gone")
	}
	if err := f.untouched(); err != nil {
		t.Error(err)
	}
}

func TestTheTokenOfAnEarlierBootIsNotUsed(t *testing.T) {
	for name, others := range map[string]int{"pf off": 0, "pf on for somebody else": 1} {
		t.Run(name, func(t *testing.T) {
			f := newFakePF(t)
			b := newTestPF(t, f)
			blocklisttest.Add(t, b, 0, peers...)
			f.start()
			for range others {
				f.refs, f.on = append(f.refs, 99), true
			}
			blocklisttest.Loaded(t, b, false)
			blocklisttest.Remove(t, b, peers...) // the stale token is given up without harm
			if _, known, err := b.reference.read(); known || err != nil {
				t.Errorf("a stale token is kept: %v", err)
			}
			if len(f.refs) != others {
				t.Errorf("%d references are left of %d", len(f.refs), others)
			}

			blocklisttest.Add(t, b, 0, peers...)
			f.start()
			for range others {
				f.refs, f.on = append(f.refs, 99), true
			}
			blocklisttest.Add(t, b, 0, peers...)
			blocklisttest.Loaded(t, b, true, peers...)
			if len(f.refs) != others+1 {
				t.Errorf("%d references, want one beside those of %d others", len(f.refs), others)
			}
		})
	}
}

// pfctl -d drops the references of everybody.
func TestSomebodySwitchesPFOff(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	blocklisttest.Add(t, b, 0, peers...)
	f.refs, f.on = nil, false
	blocklisttest.Loaded(t, b, false, peers...)
	f.both(t, peers[0], true)
	blocklisttest.Add(t, b, 0, peers...)
	blocklisttest.Loaded(t, b, true, peers...)
	f.both(t, peers[0], false)
	blocklisttest.Remove(t, b, peers...)
	if f.on || len(f.refs) != 0 {
		t.Errorf("on %v, references %v", f.on, f.refs)
	}
}

func TestTheFileOfTheReference(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	blocklisttest.Add(t, b, 0, peers...)
	raw, err := os.ReadFile(b.reference.path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]string
	if err := json.Unmarshal(raw, &doc); err != nil || doc["token"] != "15053025338191572189" {
		t.Errorf("%s: %v", raw, err)
	}
	if info, err := os.Stat(b.reference.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, content := range []string{"", "{", "[]", `{"token":"x"}`, `{"token":5}`, strings.Repeat(" ", 10<<10)} {
		if err := os.WriteFile(b.reference.path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, known, err := b.reference.read(); known || err != nil {
			t.Errorf("%.20q: known %v, %v", content, known, err)
		}
		blocklisttest.Add(t, b, 0, peers...)
		if token, known, err := b.reference.read(); !known || err != nil || token != f.refs[len(f.refs)-1] {
			t.Errorf("%.20q is not replaced: %d %v %v", content, token, known, err)
		}
	}
	if err := os.Chmod(b.reference.path, 0o666); err != nil {
		t.Fatal(err)
	}
	runs := len(f.refs)
	if err := b.Add(t.Context(), blocklisttest.Blocks(0, peers...)); err == nil || len(f.refs) != runs {
		t.Errorf("a file that everybody may write is used: %v", err)
	}
	if err := b.Remove(t.Context(), peers); err == nil || len(f.refs) != runs {
		t.Errorf("a reference that anybody may have written is given back: %v", err)
	}
}

// A reference that cannot be remembered could never be given back.
func TestAReferenceThatCannotBeKeptIsGivenBack(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	leftover := filepath.Join(filepath.Dir(b.reference.path), "."+filepath.Base(b.reference.path)+"1234567890123456789")
	then := time.Now().Add(-time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Join(leftover, "full"), 0o755), os.Chtimes(leftover, then, then)); err != nil {
		t.Fatal(err)
	}
	err := b.Add(t.Context(), blocklisttest.Blocks(0, peers...))
	if fault.From(err).Code != fault.FirewallFailed || f.on || len(f.refs) != 0 {
		t.Errorf("%v; on %v, references %v", err, f.on, f.refs)
	}
	blocklisttest.Loaded(t, b, false)
}

func TestOthersChangeTheOwnRules(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	whole := strings.Split(strings.TrimSpace(ownRules), "\n")[1:]
	pass, good := whole[:16:16], whole[16:]
	for name, rules := range map[string][]string{
		"none":           nil,
		"one":            append(pass, good[0]),
		"the other":      append(pass, good[1]),
		"an old version": good,
		"too late":       append(slices.Clone(good), pass...),
		"one too few":    append(slices.Clone(pass[1:]), good...),
		"another type":   append([]string{strings.Replace(pass[0], "groupqry", "echoreq", 1)}, whole[1:]...),
		"both ways":      append([]string{strings.Replace(pass[0], "pass in ", "pass ", 1)}, whole[1:]...),
		"the other way":  append([]string{strings.Replace(pass[0], "pass in ", "pass out ", 1)}, whole[1:]...),
		"everybody":      append([]string{"pass in quick inet6 proto 58 from any to any icmp6-type groupqry no state"}, whole[1:]...),
		"a pass":         append([]string{"pass quick all"}, whole...),
		"no quick":       append(pass, "block drop from <sentinel> to any", "block drop from any to <sentinel>"),
		"a condition":    append(pass, "block drop in quick on en0 from <sentinel> to any", good[1]),
		"a port":         append(pass, good[0], good[1]+" port = 22"),
		"a table":        append(pass, good[0], "block drop quick from any to <other>"),
	} {
		t.Run(name, func(t *testing.T) {
			f.start()
			blocklisttest.Add(t, b, 0, peers...)
			f.anchors[anchor].rules = rules
			blocklisttest.Loaded(t, b, false, peers...)
			blocklisttest.Add(t, b, 0, strangers[0])
			blocklisttest.Loaded(t, b, true, peers[0], peers[1], strangers[0])
			f.both(t, peers[0], false)
		})
	}
	f.start()
	blocklisttest.Add(t, b, 0, peers...)
	f.anchors[anchor].rules = nil
	for _, rule := range pass { // as pfctl lists it
		f.anchors[anchor].rules = append(f.anchors[anchor].rules, strings.NewReplacer("proto 58", "proto ipv6-icmp", "<sentinel>", "<sentinel:2>").Replace(rule))
	}
	f.anchors[anchor].rules = append(f.anchors[anchor].rules, "block drop quick from any to <sentinel:2>", "block drop quick from <sentinel:2> to any")
	blocklisttest.Loaded(t, b, true, peers...)
}

func TestWhereThePacketsGo(t *testing.T) {
	lead := `anchor "com.apple/*" all`
	for name, c := range map[string]struct {
		rules   []string
		anchors map[string][]string
		bypass  string // the rule, or "missing"
	}{
		"stock":                         {rules: stock},
		"internet sharing":              {rules: append(slices.Clone(stock), `anchor "com.apple.internet-sharing" all`)},
		"the own anchor by name":        {rules: []string{`anchor "com.apple/000.Sentinel" all`}},
		"nothing":                       {bypass: "missing"},
		"only translation":              {rules: []string{`nat-anchor "com.apple/*" all`, `rdr-anchor "com.apple/*" all`, `scrub-anchor "com.apple/*" all fragment reassemble`}, bypass: "missing"},
		"only on one interface":         {rules: []string{`anchor "com.apple/*" on en0 all`}, bypass: "missing"},
		"only in":                       {rules: []string{`anchor "com.apple/*" in all`}, bypass: "missing"},
		"only com.apple itself":         {rules: []string{`anchor "com.apple" all`}, bypass: "missing"},
		"below the own":                 {rules: []string{`anchor "com.apple/000.Sentinel/*" all`}, bypass: "missing"},
		"loopback first":                {rules: []string{"pass quick on lo0 all flags S/SA keep state", lead}},
		"a pass that is not final":      {rules: []string{"pass all flags S/SA keep state", lead}},
		"a block first":                 {rules: []string{"block drop quick on en0 proto tcp all", lead}},
		"a pass first":                  {rules: []string{"pass out quick on utun3 all flags S/SA keep state", lead}, bypass: "pass out quick on utun3 all flags S/SA keep state"},
		"a pass behind":                 {rules: []string{lead, "pass quick all"}},
		"a nested block":                {rules: []string{"anchor on en0 all {", lead, "}"}, bypass: "anchor on en0 all {"},
		"a harmless anchor first":       {rules: []string{`anchor "vpn" all`, lead}, anchors: map[string][]string{"vpn": {"pass out on utun3 all", "block drop all"}}},
		"an empty anchor first":         {rules: []string{`anchor "vpn" all`, lead}},
		"an anchor lets through":        {rules: []string{`anchor "vpn" all`, lead}, anchors: map[string][]string{"vpn": {"pass quick on utun3 all"}}, bypass: "pass quick on utun3 all"},
		"a final anchor lets through":   {rules: []string{`anchor "vpn" quick all`, lead}, anchors: map[string][]string{"vpn": {"pass on utun3 all"}}, bypass: "pass on utun3 all"},
		"a final anchor with one in it": {rules: []string{`anchor "vpn" quick all`, lead}, anchors: map[string][]string{"vpn": {`anchor "a" all`}, "vpn/a": {"pass on utun3 all"}}, bypass: "pass on utun3 all"},
		"an anchor in one":              {rules: []string{`anchor "vpn" all`, lead}, anchors: map[string][]string{"vpn": {`anchor "a" all`}, "vpn/a": {"pass quick all"}}, bypass: "pass quick all"},
		"all anchors below one":         {rules: []string{`anchor "vpn/*" all`, lead}, anchors: map[string][]string{"vpn": nil, "vpn/a": {"pass quick all"}}, bypass: "pass quick all"},
		"all anchors below one are in":  {rules: []string{`anchor "vpn/*" all`, lead}, anchors: map[string][]string{"vpn/a": {"block drop all"}, "vpn/b": nil}},
		"an anchor in itself":           {rules: []string{`anchor "vpn" all`, lead}, anchors: map[string][]string{"vpn": {`anchor "/vpn" all`}}, bypass: `anchor "vpn" all`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakePF(t)
			f.rules = c.rules
			for path, rules := range c.anchors {
				f.anchors[path] = &fakeAnchor{rules: rules}
			}
			b := newTestPF(t, f)
			why, err := b.bypass(t.Context())
			want := bypass{rule: c.bypass}
			if c.bypass == "missing" {
				want = bypass{missing: true}
			}
			if err != nil || why != want {
				t.Fatalf("%+v, %v; want %+v", why, err, want)
			}
			err = b.Add(t.Context(), blocklisttest.Blocks(0, peers...))
			if want.none() != (err == nil) {
				t.Fatalf("Add: %v", err)
			}
			if !want.none() {
				if f := fault.From(err); f.Code != fault.FirewallUnavailable || !strings.Contains(f.Fix, "/etc/pf.conf") {
					t.Errorf("%s: %s; %s", f.Code, f.Message, f.Fix)
				}
				if len(f.refs) != 0 || f.untouched() != nil {
					t.Error("pf was changed")
				}
				return
			}
			blocklisttest.Loaded(t, b, true, peers...)
			for _, p := range peers {
				f.both(t, p, false)
			}
		})
	}
}

// What is blocked can be unblocked whatever others did to pf.
func TestUnblockingNeedsNoReference(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	blocklisttest.Add(t, b, 0, peers...)
	f.flushAll()
	blocklisttest.Remove(t, b, peers...)
	blocklisttest.Loaded(t, b, false)
	if f.on || f.untouched() != nil {
		t.Errorf("on %v, %v", f.on, f.untouched())
	}
}

func TestRefusals(t *testing.T) {
	operations := func(t *testing.T, b *PF) map[string]error {
		_, _, err := b.Loaded(t.Context())
		return map[string]error{
			"add": b.Add(t.Context(), blocklisttest.Blocks(0, peers...)), "remove": b.Remove(t.Context(), peers), "loaded": err, "ready": b.Ready(t.Context()),
		}
	}
	said := func(exit int, out, stderr string) func(string, []byte) (sysexec.Result, error, bool) {
		return func(string, []byte) (sysexec.Result, error, bool) { return result(exit, out, stderr), nil, true }
	}
	for name, c := range map[string]struct {
		euid   int
		change func(*fakePF)
		code   fault.Code
	}{
		"an ordinary user":       {501, func(f *fakePF) { f.notRoot = true }, fault.PermissionDenied},
		"root is refused":        {0, func(f *fakePF) { f.notRoot = true }, fault.FirewallFailed},
		"no pfctl":               {0, func(f *fakePF) { f.missing = true }, fault.FirewallUnavailable},
		"it fails without words": {0, func(f *fakePF) { f.answer = said(1, "", "") }, fault.FirewallFailed},
		"it is killed":           {0, func(f *fakePF) { f.answer = said(137, "", "") }, fault.FirewallFailed},
		"an error with status 0": {0, func(f *fakePF) { f.answer = said(0, "", "pfctl: DIOCGETTIMEOUT: Device busy\n") }, fault.FirewallFailed},
		"it does not end": {0, func(f *fakePF) {
			f.answer = func(string, []byte) (sysexec.Result, error, bool) {
				return sysexec.Result{}, context.DeadlineExceeded, true
			}
		}, fault.Timeout},
		"it floods": {0, func(f *fakePF) {
			f.answer = func(string, []byte) (sysexec.Result, error, bool) {
				return sysexec.Result{}, sysexec.ErrOutputTooLarge, true
			}
		}, fault.FirewallFailed},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakePF(t)
			b := NewPF(Parts{Runner: f, StateDir: t.TempDir(), EUID: c.euid})
			c.change(f)
			for what, err := range operations(t, b) {
				if err == nil || fault.From(err).Code != c.code {
					t.Errorf("%s: %v", what, err)
				}
			}
			if len(f.refs) != 0 || f.untouched() != nil {
				t.Error("pf was changed")
			}
		})
	}
}

// What pfctl prints wrong, or not to its end, is an error and never an empty list.
func TestDamagedOutputs(t *testing.T) {
	for args, wrong := range map[string]sysexec.Result{
		"-s info":                         result(0, "", ""),
		"-s rules":                        result(0, "", ""),
		"-s References":                   result(0, "TOK", ""),
		"-E":                              result(0, "", "pf enabled\nToken : 1505302533819"),
		anchorArgs("-s rules"):            result(0, "block drop quick from <sentinel> to any\nblock drop qu", ""),
		anchorArgs("-t sentinel -T show"): result(0, "   198.51.100.2\n   2001:db8:1:", ""),
		anchorArgs("-f -"):                result(0, "", ""), // it does nothing
	} {
		t.Run(args, func(t *testing.T) {
			f := newFakePF(t)
			b := newTestPF(t, f)
			if args == "-s References" {
				blocklisttest.Add(t, b, 0, peers...)
			}
			f.answer = func(asked string, _ []byte) (sysexec.Result, error, bool) { return wrong, nil, asked == args }
			if err := b.Add(t.Context(), blocklisttest.Blocks(0, strangers...)); err == nil {
				blocks, effective, err := b.Loaded(t.Context())
				t.Errorf("Add succeeds; loaded %d, effective %v, %v", len(blocks), effective, err)
			}
		})
	}
}

func anchorArgs(rest string) string { return "-a " + anchor + " " + rest }

func TestPFThatDoesNotComeOnIsNoSuccess(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	f.answer = func(asked string, _ []byte) (sysexec.Result, error, bool) {
		return result(0, "Status: Disabled for 0 days 02:37:56\n", ""), nil, asked == "-s info"
	}
	if err := b.Add(t.Context(), blocklisttest.Blocks(0, peers...)); fault.From(err).Code != fault.FirewallFailed || f.untouched() != nil {
		t.Errorf("%v, %v", err, f.untouched())
	}
}

func TestAPartThatFailsDoesNotKeepBackTheOthers(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	n := 0
	f.answer = func(asked string, _ []byte) (sysexec.Result, error, bool) {
		if strings.Contains(asked, "-T add") {
			n++
		}
		return result(1, "", "pfctl: Cannot allocate memory.\n"), nil, n == 2 && strings.Contains(asked, "-T add")
	}
	all := blocklisttest.Numbered(4, 2500)
	err := b.Add(t.Context(), blocklisttest.Blocks(0, all...))
	if fault.From(err).Code != fault.FirewallFailed || !strings.Contains(err.Error(), "did not take") {
		t.Errorf("%v", err)
	}
	f.answer = nil
	blocklisttest.Loaded(t, b, true, append(all[:1000:1000], all[2000:]...)...)
}

// Several sentinels change pf at the same time. Each has its own memory, and
// there is one reference.
func TestManyAtOnce(t *testing.T) {
	f := newFakePF(t)
	dir := t.TempDir()
	const crowd, each = 16, 5
	all := append(blocklisttest.Numbered(4, crowd/2*each), blocklisttest.Numbered(6, crowd/2*each)...)
	everybody := func(do func(b *PF, part []netip.Addr) error) {
		t.Helper()
		var wait sync.WaitGroup
		for i := range crowd {
			wait.Go(func() {
				b := NewPF(Parts{Runner: f, StateDir: dir})
				if err := do(b, all[i*each:][:each]); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	everybody(func(b *PF, part []netip.Addr) error { return b.Add(t.Context(), blocklisttest.Blocks(0, part...)) })
	b := NewPF(Parts{Runner: f, StateDir: dir})
	blocklisttest.Loaded(t, b, true, all...)
	if len(f.refs) != 1 {
		t.Errorf("%d references are held", len(f.refs))
	}
	everybody(func(b *PF, part []netip.Addr) error { return b.Remove(t.Context(), part) })
	blocklisttest.Loaded(t, b, false)
	if f.on || len(f.refs) != 0 || f.untouched() != nil {
		t.Errorf("on %v, references %v, %v", f.on, f.refs, f.untouched())
	}
}

func TestALockThatIsHeldIsWaitedForAndNoLonger(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	release, err := b.reference.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Add(ctx, blocklisttest.Blocks(0, peers...)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	release()
	blocklisttest.Add(t, b, 0, peers...)
}

// killed runs do, which is ended at one run of pfctl.
func killed(do func()) {
	var wait sync.WaitGroup
	wait.Go(do)
	wait.Wait()
}

// Whatever a SIGKILL leaves, addresses are never there without the rules, and
// the next run puts all right.
func TestKilledAtAnyStep(t *testing.T) {
	all := append(blocklisttest.Numbered(4, 1500), peers...)
	for _, afterward := range []bool{false, true} {
		for step := 1; ; step++ {
			f := newFakePF(t)
			f.afterward, f.crash = afterward, step
			dir := t.TempDir()
			b := NewPF(Parts{Runner: f, StateDir: dir})
			done := false
			killed(func() {
				err := b.Add(context.Background(), blocklisttest.Blocks(0, all...))
				done = err == nil
			})
			if done && f.crash != 0 {
				f.crash = 0
				break
			}
			blocks := blocklisttest.MustLoad(t, b)
			if n := len(blocks); n != 0 && n != 1000 && n != len(all) {
				t.Errorf("step %d: %d addresses", step, n)
			}
			blocklisttest.Loaded(t, b, len(blocks) > 0 || f.on && f.untouched() != nil, addressesOf(blocks)...)
			blocklisttest.Add(t, b, 0, peers...)
			blocklisttest.Loaded(t, b, true, append(addressesOf(blocks), missing(peers, blocks)...)...)

			f.runs, f.crash = 0, step
			killed(func() { b.Remove(context.Background(), all) })
			f.crash = 0
			blocklisttest.Remove(t, b, all...)
			blocklisttest.Loaded(t, b, false)
			if len(f.refs) > 1 || f.untouched() != nil {
				t.Errorf("step %d: references %v, %v", step, f.refs, f.untouched())
			}
		}
	}
}

func addressesOf(blocks []blocklist.Block) []netip.Addr {
	var list []netip.Addr
	for _, b := range blocks {
		list = append(list, b.Address)
	}
	return list
}

func missing(want []netip.Addr, blocks []blocklist.Block) []netip.Addr {
	have := addressesOf(blocks)
	return slices.DeleteFunc(slices.Clone(want), func(a netip.Addr) bool { return slices.Contains(have, a) })
}

func TestCut(t *testing.T) {
	f := newFakePF(t)
	f.on = true
	f.states = []fakeState{{peers[0], here4}, {here4, peers[0]}, {here6, peers[1]}, {strangers[0], here4}}
	cutter := ConnKiller{pfctl.New(f)}
	for _, c := range []struct {
		address netip.Addr
		want    int
	}{{netip.AddrFrom16(peers[0].As16()), 2}, {peers[0], 0}, {peers[1], 1}, {netip.MustParseAddr("192.0.2.1"), 0}} {
		if n, err := cutter.Kill(t.Context(), c.address); n != c.want || err != nil {
			t.Errorf("%s: %d, %v; want %d", c.address, n, err, c.want)
		}
	}
	if len(f.states) != 1 {
		t.Errorf("%v are left", f.states)
	}
	want := []string{"-k 198.51.100.2", "-k 0.0.0.0/0 -k 198.51.100.2", "-k 198.51.100.2", "-k 0.0.0.0/0 -k 198.51.100.2", "-k 2001:db8:1::2", "-k ::/0 -k 2001:db8:1::2", "-k 192.0.2.1", "-k 0.0.0.0/0 -k 192.0.2.1"}
	if diff := cmp.Diff(want, f.log); diff != "" {
		t.Error(diff)
	}
	f.missing = true
	if _, err := cutter.Kill(t.Context(), peers[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Nothing that others rely on is ever touched.
func TestNothingOfOthersIsTouched(t *testing.T) {
	f := newFakePF(t)
	b := newTestPF(t, f)
	before := rulesOf(f)
	blocklisttest.Add(t, b, 0, peers...)
	blocklisttest.Remove(t, b, peers...)
	if diff := cmp.Diff(before, rulesOf(f)); diff != "" {
		t.Error(diff)
	}
	for _, args := range f.log {
		words := strings.Fields(args)
		for _, w := range words {
			if w == "-e" || w == "-d" || w == "/etc/pf.conf" || w == "-F" && words[0] != "-a" {
				t.Errorf("pfctl %s", args)
			}
		}
	}
}

func rulesOf(f *fakePF) map[string][]string {
	all := map[string][]string{"": f.rules}
	for path, a := range f.anchors {
		all[path] = a.rules
	}
	return all
}

func TestAHungRunIsNamedWithWhatEndsIt(t *testing.T) {
	e := fault.From((&PF{}).failure("The state of pf could not be locked", lockfile.BusyError{Path: "/x/pf.lock", Holder: 7}))
	if e.Code != fault.Unavailable || !strings.Contains(e.Message, "process 7, another run of sentinel, has held /x/pf.lock") || !strings.HasSuffix(e.Fix, "sudo kill -9 7") {
		t.Errorf("%+v", e)
	}
}

// Messages with which neighbours find each other meet no rule that drops, to and
// from blocked addresses; others do.
func TestNeighboursAreFoundPastABlock(t *testing.T) {
	if len(neighbourTypes) != blocklist.NeighboursTo-blocklist.ListenersFrom+1 {
		t.Fatalf("%d types", len(neighbourTypes))
	}
	f := newFakePF(t)
	blocklisttest.Add(t, newTestPF(t, f), 0, peers...)
	for _, kind := range append(slices.Clone(neighbourTypes), "echoreq") {
		f.icmp6 = kind
		f.both(t, peers[1], kind != "echoreq")
		if from, to := f.forwards(peers[1], strangers[1]), f.forwards(strangers[1], peers[1]); from || to {
			t.Errorf("%s is forwarded: from a blocked address %v, to one %v", kind, from, to)
		}
	}
	f.icmp6 = ""
	f.both(t, peers[1], false)
}
