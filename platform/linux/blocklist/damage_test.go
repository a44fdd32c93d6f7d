// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// Whatever happened to the own table, the next Add puts it right, with the
// addresses that were in it, in one step.
func TestDamagedTableIsPutRight(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	old, one := numbered(6, 2), netip.MustParseAddr("192.0.2.9")
	for name, c := range map[string]struct {
		commands []string
		keeps    bool // the addresses of IPv6 are still there
		other    string
	}{
		"a rule before":       {[]string{"insert rule inet sentinel output accept"}, true, ""},
		"a rule after":        {[]string{"add rule inet sentinel output counter"}, true, ""},
		"a chain emptied":     {[]string{"flush chain inet sentinel forward"}, true, ""},
		"a chain gone":        {[]string{"flush chain inet sentinel forward", "delete chain inet sentinel forward"}, true, ""},
		"all chains emptied":  {[]string{"flush table inet sentinel"}, true, ""},
		"policy drop":         {[]string{"chain inet sentinel input { policy drop ; }"}, true, ""},
		"dormant":             {[]string{"add table inet sentinel { flags dormant ; }"}, true, ""},
		"dormant, chain gone": {[]string{"add table inet sentinel { flags dormant ; }", "flush chain inet sentinel forward", "delete chain inet sentinel forward"}, true, ""},
		"dormant, emptied":    {[]string{"add table inet sentinel { flags dormant ; }", "flush table inet sentinel"}, true, ""},
		"chain at another hook": {[]string{
			"flush chain inet sentinel input", "delete chain inet sentinel input",
			"add chain inet sentinel input { type filter hook prerouting priority 0 ; }",
		}, true, ""},
		"chain without a hook": {[]string{
			"flush chain inet sentinel input", "delete chain inet sentinel input", "add chain inet sentinel input", "add rule inet sentinel input drop",
		}, true, ""},
		"chain jumped to": {[]string{
			"flush chain inet sentinel input", "delete chain inet sentinel input", "add chain inet sentinel input",
			"add chain inet sentinel other { type filter hook input priority 0 ; }", "add rule inet sentinel other jump input",
		}, true, ""},
		"addresses gone": {[]string{"flush set inet sentinel blocked6"}, false, ""},
		"set of another kind": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked6",
			"add set inet sentinel blocked6 { type ether_addr ; elements = { 00:00:5e:00:53:01 } ; }",
		}, false, ""},
		"set with intervals": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked4",
			"add set inet sentinel blocked4 { type ipv4_addr ; flags timeout,interval ; elements = { 192.0.2.128/25 } ; }",
		}, true, ""},
		"set with a limit": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked6",
			"add set inet sentinel blocked6 { type ipv6_addr ; flags timeout ; timeout 1m ; elements = { 2001:db8::5 } ; }",
		}, false, "2001:db8::5"},
		"set without limits": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked6", "add set inet sentinel blocked6 { type ipv6_addr ; }",
		}, false, ""},
		"set with a size": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked4",
			"add set inet sentinel blocked4 { type ipv4_addr ; flags timeout ; size 1 ; elements = { 192.0.2.200 } ; }",
		}, true, "192.0.2.200"},
		"a map of its name": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked6", "add map inet sentinel blocked6 { type ipv6_addr : verdict ; }",
		}, false, ""},
		"a set that somebody uses": {[]string{
			"flush table inet sentinel", "delete set inet sentinel blocked6", "add set inet sentinel blocked6 { type ipv6_addr ; }",
			"add chain inet sentinel mine", "add rule inet sentinel mine ip6 saddr @blocked6 accept",
		}, false, ""},
		"an empty table":   {[]string{"delete table inet sentinel", "add table inet sentinel"}, false, ""},
		"no table":         {[]string{"delete table inet sentinel"}, false, ""},
		"a table of ip":    {[]string{"delete table inet sentinel", "add table ip sentinel"}, false, ""},
		"the set alone":    {[]string{"delete table inet sentinel", "add table inet sentinel", "add set inet sentinel blocked4 { type ipv4_addr ; flags timeout ; }"}, false, ""},
		"another set used": {[]string{"flush chain inet sentinel input", "add set inet sentinel x { type ipv4_addr ; flags timeout ; }", "add rule inet sentinel input ip saddr @x counter drop", "add rule inet sentinel input ip6 saddr @blocked6 counter drop"}, true, ""},
		"another field":    {[]string{"flush chain inet sentinel input", "add rule inet sentinel input ip daddr @blocked4 counter drop", "add rule inet sentinel input ip6 saddr @blocked6 counter drop"}, true, ""},
		"not in the set":   {[]string{"flush chain inet sentinel input", "add rule inet sentinel input ip saddr != @blocked4 counter drop", "add rule inet sentinel input ip6 saddr @blocked6 counter drop"}, true, ""},
		"accept in place":  {[]string{"flush chain inet sentinel input", "add rule inet sentinel input ip saddr @blocked4 counter accept", "add rule inet sentinel input ip6 saddr @blocked6 counter drop"}, true, ""},
	} {
		for _, repair := range []string{"add", "remove"} {
			t.Run(name+", "+repair, func(t *testing.T) {
				try("nft flush ruleset")
				n := NewNftables()
				add(t, n, time.Hour, old...)
				for _, c := range c.commands {
					run(t, "nft "+c)
				}
				if _, effective, err := n.Loaded(t.Context()); err != nil || effective != (name == "addresses gone") {
					t.Errorf("damaged: effective %v, %v", effective, err)
				}
				if repair == "remove" {
					remove(t, n, old[0], one)
					for i, a := range old {
						if _, there, _, err := n.Find(t.Context(), a); err != nil || there != (c.keeps && i == 1) {
							t.Errorf("removed: %s is there: %v, %v", a, there, err)
						}
					}
					return
				}
				add(t, n, time.Hour, one)
				want := []netip.Addr{one}
				if c.keeps {
					want = append(want, old...)
				}
				if c.other != "" {
					want = append(want, netip.MustParseAddr(c.other))
				}
				loaded(t, n, true, want...)
			})
		}
	}
}

// A table with many addresses is made anew in one step too.
func TestLargeTableIsMadeAnew(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	n, all := NewNftables(), numbered(6, 20_000)
	add(t, n, time.Hour, all...)
	for _, command := range []string{"flush table inet sentinel", "delete set inet sentinel blocked4", "add set inet sentinel blocked4 { type ether_addr ; }"} {
		run(t, "nft "+command)
	}
	loaded(t, n, false, all...)
	add(t, n, time.Hour, peers...)
	for a, left := range loaded(t, n, true, append(all, peers...)...) {
		if left < 50*time.Minute || left > time.Hour {
			t.Fatalf("%s has %v left", a, left)
		}
	}
}

// While rules are put right, no packet of a blocked address gets through.
func TestRepairLetsNothingThrough(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	w, n := newTestNetwork(t), NewNftables()
	add(t, n, time.Hour, peers...)
	stop := make(chan struct{})
	var through, sent atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			sent.Add(1)
			if w.delivered("peer", peer4, here4, 0) {
				through.Add(1)
			}
		}
	}()
	for range 200 {
		run(t, "nft add rule inet sentinel input counter")
		if err := n.Add(t.Context(), blocksOf(time.Hour, numbered(4, 3)...)); err != nil {
			t.Fatal(err)
		}
		if err := n.Add(t.Context(), blocksOf(time.Hour, peers...)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
	heard := 0
	w.heard.Range(func(any, any) bool { heard++; return true })
	if heard > 0 || sent.Load() < 100 {
		t.Errorf("%d of %d packets got through", heard, sent.Load())
	}
}

// A tool that loads its rules again and again, flushing all before, makes no
// operation fail.
func TestFlushInBetweenIsNoFailure(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	ctx, stop := context.WithCancel(t.Context())
	var flushed atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; flushed.Add(1) {
			try("nft flush ruleset")
		}
	}()
	n, all := NewNftables(), numbered(4, 100)
	for round := 0; round < 100 || flushed.Load() < 100; round++ {
		if err := n.Add(t.Context(), blocksOf(time.Hour, all...)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.Loaded(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := n.Find(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
		if err := n.Remove(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	<-done
}

func TestPacketFilterIsForRoot(t *testing.T) {
	for _, name := range []string{"nftables", "iptables-nft", "iptables-legacy"} {
		t.Run(name, func(t *testing.T) {
			if !testenv.Isolated(t) {
				return
			}
			testenv.Become(t, testenv.Nobody)
			b := backendOf(name)
			for what, err := range map[string]error{
				"add": b.Add(t.Context(), blocksOf(0, peers...)), "remove": b.Remove(t.Context(), peers), "loaded": third(b.Loaded(t.Context())),
			} {
				if known := fault.From(err); known.Code != fault.PermissionDenied {
					t.Errorf("%s: %v: %v", what, known.Code, err)
				}
			}
			if b, err := DetectBackend(t.Context(), sysexec.Host{}); err != nil || b.Name() != "nftables" {
				t.Errorf("chosen: %v, %v", b, err)
			}
		})
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

// On a host without ip6tables, IPv4 is blocked as ever, and IPv6 not in
// silence.
func TestMissingProgramsAreSaid(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	directory := t.TempDir()
	for _, name := range []string{"iptables-nft", "iptables-nft-restore"} {
		if err := os.Symlink(testenv.Program(t, name, "iptables"), filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
	x := NewIptables(sysexec.Host{}, "nft")
	x.dirs = []string{directory}
	add(t, x, 0, peers[0])
	loaded(t, x, true, peers[0])
	err := x.Add(t.Context(), blocksOf(0, numbered(4, 1)[0], peers[1]))
	if known := fault.From(err); known.Code != fault.FirewallUnavailable || !strings.Contains(known.Message, "IPv6") {
		t.Errorf("IPv6: %v", err)
	}
	loaded(t, x, true, peers[0])
	remove(t, x, peers...)
	loaded(t, x, true)
	x.dirs = nil
	if err := x.Add(t.Context(), blocksOf(0, peers[0])); fault.From(err).Code != fault.FirewallUnavailable {
		t.Errorf("nothing installed: %v", err)
	}
	if _, effective, err := x.Loaded(t.Context()); err != nil || effective {
		t.Errorf("nothing installed: %v, %v", effective, err)
	}
}

// Rules of somebody else in the own chain, a half of a pair, and a jump that is
// there twice are put right too.
func TestDamagedChainIsPutRight(t *testing.T) {
	for _, variant := range []string{"nft", "legacy"} {
		t.Run(variant, func(t *testing.T) {
			if !testenv.Isolated(t) {
				return
			}
			x := NewIptables(sysexec.Host{}, variant)
			add(t, x, 0, peers...)
			for _, command := range []string{
				"iptables-%s -I SENTINEL 1 -j RETURN", "iptables-%s -A OUTPUT -j SENTINEL", "iptables-%s -I OUTPUT 1 -j ACCEPT",
				"ip6tables-%s -D SENTINEL -s " + peer6 + " -j DROP", "ip6tables-%s -A SENTINEL -d " + peer6 + " -j DROP",
			} {
				run(t, strings.Replace(command, "%s", variant, 1))
			}
			loaded(t, x, false, peers[0])
			add(t, x, 0, peers[1])
			loaded(t, x, true, peers...)
			if rules := run(t, "iptables-"+variant+" -S OUTPUT"); strings.Count(rules, OwnChain) != 1 {
				t.Errorf("jumps are left: %s", rules)
			}
			remove(t, x, peers...)
			for program, v6 := range map[string]bool{"iptables-": false, "ip6tables-": true} {
				want := "-N " + OwnChain + "\n"
				for _, rule := range neighbourRules(v6) {
					want += "-A " + rule + "\n"
				}
				if rules := run(t, program+variant+" -S "+OwnChain); rules != want {
					t.Errorf("left over: %s", rules)
				}
			}
		})
	}
}

// nfnetlink(7) answers EINVAL for a part that the kernel does not have; not
// being allowed to ask says nothing.
func TestKernelWithoutNftablesIsRecognised(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, unix.EPERM: false, unix.EINVAL: true, unix.EOPNOTSUPP: true, unix.EPROTONOSUPPORT: true, fmt.Errorf("x: %w", unix.EAFNOSUPPORT): true,
	} {
		if lacksNftables(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
	for directory, want := range map[string]string{"/usr/sbin": "iptables", "/nowhere": ""} {
		b, err := chooseIptables(&Iptables{dirs: []string{directory}})
		if want == "" {
			if fault.From(err).Code != fault.FirewallUnavailable {
				t.Errorf("without anything: %v, %v", b, err)
			}
		} else if err != nil || b.Name() != want {
			t.Errorf("with iptables: %v, %v", b, err)
		}
	}
}
