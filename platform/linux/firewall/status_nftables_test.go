// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
)

func TestChainIsDescribedByWhatItDoesToAPacket(t *testing.T) {
	table := &nftables.Table{Name: "filter", Family: nftables.TableFamilyINet}
	base := nftables.Chain{Table: table, Name: "in", Hooknum: nftables.ChainHookInput, Type: nftables.ChainTypeFilter}
	drop, accept := nftables.ChainPolicyDrop, nftables.ChainPolicyAccept
	for name, c := range map[string]struct {
		change func(*nftables.Chain)
		rules  []expr.Any
		mapped []*expr.Verdict
		want   firewall.Chain
	}{
		"accepts":      {nil, []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictAccept}}, nil, firewall.Chain{Input: true}},
		"drop policy":  {func(c *nftables.Chain) { c.Policy = &drop }, nil, nil, firewall.Chain{Input: true, DropPolicy: true}},
		"other policy": {func(c *nftables.Chain) { c.Policy = &accept }, nil, nil, firewall.Chain{Input: true}},
		"drop":         {nil, []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}, nil, firewall.Chain{Input: true, Drops: true}},
		"reject":       {nil, []expr.Any{&expr.Reject{}}, nil, firewall.Chain{Input: true, Drops: true}},
		"old reject":   {nil, []expr.Any{&expr.Target{Name: "REJECT"}}, nil, firewall.Chain{Input: true, Drops: true}},
		"old drop":     {nil, []expr.Any{&expr.Target{Name: "DROP"}}, nil, firewall.Chain{Input: true, Drops: true}},
		"old tarpit":   {nil, []expr.Any{&expr.Target{Name: "TARPIT"}}, nil, firewall.Chain{Input: true, Drops: true}},
		"old log":      {nil, []expr.Any{&expr.Target{Name: "LOG"}}, nil, firewall.Chain{Input: true}},
		"jump and goto": {
			nil, []expr.Any{&expr.Verdict{Kind: expr.VerdictJump, Chain: "a"}, &expr.Verdict{Kind: expr.VerdictGoto, Chain: "b"}}, nil,
			firewall.Chain{Input: true, Jumps: []string{"a", "b"}},
		},
		"a map that drops and jumps": {
			nil, nil, []*expr.Verdict{{Kind: expr.VerdictAccept}, {Kind: expr.VerdictDrop}, {Kind: expr.VerdictJump, Chain: "c"}},
			firewall.Chain{Input: true, Drops: true, Jumps: []string{"c"}},
		},
		"output":      {func(c *nftables.Chain) { c.Hooknum = nftables.ChainHookOutput }, nil, nil, firewall.Chain{}},
		"nat":         {func(c *nftables.Chain) { c.Type = nftables.ChainTypeNAT }, nil, nil, firewall.Chain{}},
		"translation": {func(c *nftables.Chain) { c.Hooknum, c.Type = nftables.ChainHookPrerouting, nftables.ChainTypeNAT }, nil, nil, firewall.Chain{Hook: firewall.Translation}},
		"no hook":     {func(c *nftables.Chain) { c.Hooknum = nil }, nil, nil, firewall.Chain{}},
		"prerouting":  {func(c *nftables.Chain) { c.Hooknum = nftables.ChainHookPrerouting }, nil, nil, firewall.Chain{Input: true, Hook: firewall.Prerouting}},
		"forward":     {func(c *nftables.Chain) { c.Hooknum = nftables.ChainHookForward }, nil, nil, firewall.Chain{}},
		"postrouting": {func(c *nftables.Chain) { c.Hooknum = nftables.ChainHookPostrouting }, nil, nil, firewall.Chain{}},
		"ingress": {func(c *nftables.Chain) {
			c.Hooknum, c.Table = nftables.ChainHookIngress, &nftables.Table{Name: "filter", Family: nftables.TableFamilyNetdev}
		}, nil, nil, firewall.Chain{Family: "netdev", Input: true, Hook: firewall.Aside}},
		"egress": {func(c *nftables.Chain) {
			c.Hooknum, c.Table = nftables.ChainHookRef(1), &nftables.Table{Name: "filter", Family: nftables.TableFamilyNetdev}
		}, nil, nil, firewall.Chain{Family: "netdev"}},
		"prerouting of IPv4": {func(c *nftables.Chain) {
			c.Hooknum, c.Table = nftables.ChainHookPrerouting, &nftables.Table{Name: "filter", Family: nftables.TableFamilyIPv4}
		}, nil, nil, firewall.Chain{Family: "ip", Input: true, Hook: firewall.Prerouting}},
		"output of IPv6": {func(c *nftables.Chain) {
			c.Hooknum, c.Table = nftables.ChainHookOutput, &nftables.Table{Name: "filter", Family: nftables.TableFamilyIPv6}
		}, nil, nil, firewall.Chain{Family: "ip6"}},
		"bridge frames": {func(c *nftables.Chain) { c.Table = &nftables.Table{Name: "filter", Family: nftables.TableFamilyBridge} }, nil, nil, firewall.Chain{Family: "other", Hook: firewall.Aside}},
	} {
		chain := base
		if c.change != nil {
			c.change(&chain)
		}
		c.want.Table, c.want.Name = "filter", "in"
		if c.want.Family == "" {
			c.want.Family = "inet"
		}
		if c.want.Input && c.want.Hook == firewall.NoHook {
			c.want.Hook = firewall.Input
		}
		got := describe(&chain, []*nftables.Rule{{Exprs: c.rules}}, c.mapped)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestChainsToReadAreQueuedOnceAndFromTheirTable(t *testing.T) {
	here, there := &nftables.Table{Name: "t", Family: nftables.TableFamilyIPv4}, &nftables.Table{Name: "t", Family: nftables.TableFamilyIPv6}
	all := []*nftables.Chain{{Table: there, Name: "x"}, {Table: here, Name: "x"}, {Table: here, Name: "y"}}
	queue := appendChain(nil, all, here, "x")
	if len(queue) != 1 || queue[0] != all[1] {
		t.Fatalf("got %v", queue)
	}
	if again := appendChain(queue, all, here, "x"); len(again) != 1 {
		t.Errorf("queued twice: %v", again)
	}
	if other := appendChain(queue, all, here, "y"); len(other) != 2 {
		t.Errorf("not queued: %v", other)
	}
	if gone := appendChain(queue, all, here, "z"); len(gone) != 1 {
		t.Errorf("a chain that is not there: %v", gone)
	}
}

func TestDormantTablesAreAsleepInEitherByteOrder(t *testing.T) {
	for flags, want := range map[uint32]bool{0: false, 1: true, 1 << 24: true, 2: false, 2 << 24: false, 3: true, 3 << 24: true} {
		if got := dormant(&nftables.Table{Flags: flags}); got != want {
			t.Errorf("%#x: %v", flags, got)
		}
	}
}

func TestReadErrorsKeepWhatIsForbiddenApart(t *testing.T) {
	for err, forbidden := range map[error]bool{unix.EPERM: true, unix.EACCES: true, unix.EIO: false, errVerdict: false} {
		if got := readError(fmt.Errorf("netlink: %w", err)); errors.Is(got, fs.ErrPermission) != forbidden {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.ENOENT, unix.EAFNOSUPPORT} {
		if !absent(err) {
			t.Errorf("%v is not a kernel without nftables", err)
		}
	}
	if absent(unix.EPERM) {
		t.Error("what is forbidden is not absent")
	}
}

func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func code(kind expr.VerdictKind) []byte {
	return attribute(unix.NFTA_VERDICT_CODE, binary.BigEndian.AppendUint32(nil, uint32(int32(kind))))
}

func TestVerdictsOfAMapAreParsedOrRefused(t *testing.T) {
	jump := append(code(expr.VerdictJump), attribute(unix.NFTA_VERDICT_CHAIN, []byte("inbound\x00"))...)
	for name, c := range map[string]struct {
		raw  []byte
		want expr.Verdict
	}{
		"drop":   {code(expr.VerdictDrop), expr.Verdict{Kind: expr.VerdictDrop}},
		"accept": {code(expr.VerdictAccept), expr.Verdict{Kind: expr.VerdictAccept}},
		"jump":   {jump, expr.Verdict{Kind: expr.VerdictJump, Chain: "inbound"}},
	} {
		got, err := parseVerdict(c.raw)
		if err != nil || *got != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		for cut := range len(c.raw) {
			if got, err := parseVerdict(c.raw[:cut]); err == nil && got.Kind != c.want.Kind {
				t.Errorf("%s, the first %d bytes: %+v", name, cut, got)
			}
		}
	}
	for name, raw := range map[string][]byte{
		"nothing": {}, "no code": attribute(unix.NFTA_VERDICT_CHAIN, []byte("x\x00")), "a short code": attribute(unix.NFTA_VERDICT_CODE, []byte{0}),
		"too long": {255, 255, 1, 0}, "too short": {3, 0, 1, 0},
	} {
		if got, err := parseVerdict(raw); !errors.Is(err, errVerdict) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	f.Add(code(expr.VerdictDrop))
	f.Add(append(code(expr.VerdictGoto), attribute(unix.NFTA_VERDICT_CHAIN, []byte("x\x00"))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseVerdict(b)
		if (v == nil) == (err == nil) {
			t.Errorf("%v and %v", v, err)
		}
		if err == nil && len(v.Chain) > len(b) {
			t.Errorf("chain %q", v.Chain)
		}
	})
}
