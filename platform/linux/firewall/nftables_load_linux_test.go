// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/platform/linux/conntrack"
)

// A fakeKernel keeps what is sent to nftables, and shows it again as the kernel
// does: what it dumps has the form of what it was sent.
type fakeKernel struct {
	t       *testing.T
	kept    map[int][]netlink.Message // by type: tables, chains, rules
	batches int
	refuses error // what a transaction ends with
	blind   error // what a look ends with
}

func (k *fakeKernel) dial() (*nftables.Conn, error) {
	return nftables.New(nftables.WithTestDial(k.answer))
}

func (k *fakeKernel) answer(sent []netlink.Message) ([]netlink.Message, error) {
	if len(sent) != 1 {
		return []netlink.Message{{Header: netlink.Header{Type: netlink.Error}, Data: make([]byte, 20)}}, k.take(sent)
	}
	if k.blind != nil {
		return nil, k.blind
	}
	shown := map[int]int{
		unix.NFT_MSG_GETTABLE: unix.NFT_MSG_NEWTABLE, unix.NFT_MSG_GETCHAIN: unix.NFT_MSG_NEWCHAIN, unix.NFT_MSG_GETRULE: unix.NFT_MSG_NEWRULE,
		unix.NFT_MSG_GETSETELEM: unix.NFT_MSG_NEWSETELEM,
	}
	var list []netlink.Message
	for _, m := range k.kept[shown[kind(sent[0])]] {
		if kind(m) == unix.NFT_MSG_NEWSETELEM && !bytes.Contains(m.Data, []byte(openSet(nil).Name+"\x00")) {
			continue // of a set that nobody asks for
		}
		if kind(m) == unix.NFT_MSG_NEWSETELEM {
			m.Data = listed(k.t, m.Data)
		}
		m.Header.Flags, m.Header.Sequence, m.Header.PID = netlink.Multi, sent[0].Header.Sequence, sent[0].Header.PID
		list = append(list, m)
	}
	if list == nil {
		return nil, io.EOF
	}
	end := sent[0].Header
	end.Type, end.Flags = netlink.Done, netlink.Multi
	return append(list, netlink.Message{Header: end, Data: make([]byte, 4)}), nil
}

// listed numbers the elements of a set as the kernel does, all alike, and not one after the other.
func listed(t *testing.T, sent []byte) []byte {
	t.Helper()
	attributes, err := netlink.UnmarshalAttributes(sent[4:])
	for i, a := range attributes {
		if err != nil || a.Type&^netlink.Nested != unix.NFTA_SET_ELEM_LIST_ELEMENTS {
			continue
		}
		var elements []netlink.Attribute
		elements, err = netlink.UnmarshalAttributes(a.Data)
		for n := range elements {
			elements[n].Type = netlink.Nested | unix.NFTA_LIST_ELEM
		}
		if err == nil {
			attributes[i].Data, err = netlink.MarshalAttributes(elements)
		}
	}
	shown, err2 := netlink.MarshalAttributes(attributes)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return append(slices.Clone(sent[:4]), shown...)
}

// take does what a transaction says, or none of it.
func (k *fakeKernel) take(sent []netlink.Message) error {
	if len(sent) == 0 || k.refuses != nil {
		return k.refuses
	}
	k.batches++
	for _, m := range sent {
		switch t := kind(m); t {
		case unix.NFT_MSG_DELTABLE:
			k.kept = nil
		case unix.NFT_MSG_NEWTABLE, unix.NFT_MSG_NEWCHAIN, unix.NFT_MSG_NEWRULE, unix.NFT_MSG_NEWSETELEM:
			if k.kept == nil {
				k.kept = map[int][]netlink.Message{}
			}
			k.kept[t] = append(k.kept[t], m)
		}
	}
	return nil
}

func kind(m netlink.Message) int {
	if m.Header.Type>>8 != unix.NFNL_SUBSYS_NFTABLES {
		return -1 // begin and end of a transaction
	}
	return int(m.Header.Type & 0xff)
}

func TestOwnRulesAreReadBackAsTheyWereLoaded(t *testing.T) {
	k := &fakeKernel{t: t}
	r := ruleset{k.dial}
	if _, ok, err := r.loaded(); ok || err != nil {
		t.Errorf("an empty kernel: %v, %v", ok, err)
	}
	ports := []firewall.Port{tcp(22), tcp(2222), udp(51820)}
	flows := []conntrack.Connection{
		{Local: netip.MustParseAddrPort("192.0.2.1:22"), Remote: netip.MustParseAddrPort("192.0.2.9:50000")},
		{Local: netip.MustParseAddrPort("[2001:db8::1]:22"), Remote: netip.MustParseAddrPort("[2001:db8::9]:50000")},
	}
	for range 2 {
		if err := r.load(ports, flows); err != nil {
			t.Fatal(err)
		}
	}
	rules, ok, err := r.loaded()
	if !ok || err != nil || !whole(rules, ports) || !slices.Equal(allowedBy(rules), ports) || len(rules.rules) != len(lines(ports)) {
		t.Errorf("%+v, %v, %v, ports %v", rules, ok, err, allowedBy(rules))
	}
	if k.batches != 2 {
		t.Errorf("it took %d transactions to load the rules twice", k.batches)
	}
	if whole(rules, append(ports, tcp(80))) || !whole(rules, ports[:2]) {
		t.Error("the rules let in a port that they do not name, or not one that they do")
	}
	if err := r.unload(); err != nil {
		t.Error(err)
	}
	if _, ok, err := r.loaded(); ok || err != nil {
		t.Errorf("unloaded: %v, %v", ok, err)
	}
}

// What another program has made of the rules is not taken for them.
func TestOwnRulesThatWereChangedAreNotWhole(t *testing.T) {
	drop := []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}
	for name, c := range map[string]struct {
		change func(rules []*nftables.Rule) []*nftables.Rule
		want   bool
	}{
		"as loaded":        {func(r []*nftables.Rule) []*nftables.Rule { return r }, true},
		"one is missing":   {func(r []*nftables.Rule) []*nftables.Rule { return r[1:] }, false},
		"in another order": {func(r []*nftables.Rule) []*nftables.Rule { return append(r[1:], r[0]) }, false},
		"one drops before": {func(r []*nftables.Rule) []*nftables.Rule { return slices.Insert(r, 0, &nftables.Rule{Exprs: drop}) }, false},
		"one rejects between": {func(r []*nftables.Rule) []*nftables.Rule {
			return slices.Insert(r, 3, &nftables.Rule{Exprs: []expr.Any{&expr.Reject{}}})
		}, false},
		"one drops behind": {func(r []*nftables.Rule) []*nftables.Rule { return append(r, &nftables.Rule{Exprs: drop}) }, true},
		"one accepts more": {func(r []*nftables.Rule) []*nftables.Rule {
			return slices.Insert(r, 2, &nftables.Rule{Exprs: []expr.Any{accept()}})
		}, true},
	} {
		k := &fakeKernel{t: t}
		r := ruleset{k.dial}
		if err := r.load([]firewall.Port{tcp(22)}, nil); err != nil {
			t.Fatal(err)
		}
		rules, _, err := r.loaded()
		if err != nil {
			t.Fatal(err)
		}
		rules.rules = c.change(rules.rules)
		if got := whole(rules, []firewall.Port{tcp(22)}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestKernelThatRefusesIsAnError(t *testing.T) {
	k := &fakeKernel{t: t, refuses: unix.EPERM}
	r := ruleset{k.dial}
	if err := r.load(nil, nil); !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "load the rules into nftables") {
		t.Errorf("load: %v", err)
	}
	if err := r.unload(); !errors.Is(err, unix.EPERM) {
		t.Errorf("unload: %v", err)
	}
	k.refuses = unix.ENOENT
	if err := r.unload(); err != nil {
		t.Errorf("unload of nothing: %v", err)
	}
	for cause, want := range map[error]fault.Code{unix.EPERM: fault.PermissionDenied, unix.EOPNOTSUPP: fault.FirewallUnavailable} {
		k.blind = cause
		if err := r.usable(); fault.From(err).Code != want {
			t.Errorf("%v: %v", cause, err)
		}
		if _, ok, err := r.loaded(); ok || !errors.Is(err, cause) {
			t.Errorf("%v: loaded %v, %v", cause, ok, err)
		}
	}
}

func TestMoreRulesThanAreReadAreAnError(t *testing.T) {
	k := &fakeKernel{t: t}
	r := ruleset{k.dial}
	if err := r.load(nil, nil); err != nil {
		t.Fatal(err)
	}
	conn, err := k.dial()
	if err != nil {
		t.Fatal(err)
	}
	for range maxRules {
		conn.AddRule(&nftables.Rule{Table: table(), Chain: chain(table()), Exprs: loopback()})
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.loaded(); ok || err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxRules)) {
		t.Errorf("%v, %v", ok, err)
	}
}
