// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/platform/linux/netattr"
)

func TestTransactionsMakeTheTableAndReadItBack(t *testing.T) {
	f := newFakeNFT(t)
	n := f.backend()
	loaded(t, n, false)
	remove(t, n, peers...)
	if len(f.sent) != 0 {
		t.Errorf("removing from no table sent %v", f.sent)
	}
	add(t, n, time.Hour, peers...)
	if len(f.sent) != 1 {
		t.Fatalf("%d transactions", len(f.sent))
	}
	want := map[netlink.HeaderType]int{unix.NFT_MSG_NEWTABLE: 1, unix.NFT_MSG_NEWSET: 2, unix.NFT_MSG_NEWCHAIN: 4, unix.NFT_MSG_DELRULE: 4, unix.NFT_MSG_NEWRULE: 16, unix.NFT_MSG_NEWSETELEM: 2}
	got := map[netlink.HeaderType]int{}
	for _, kind := range f.sent[0] {
		got[kind]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for a, left := range loaded(t, n, true, peers...) {
		if left != time.Hour {
			t.Errorf("%s has %v left", a, left)
		}
	}
	found(t, n, true, peers...)
	f.sent = nil
	remove(t, n, append(strangers, peers[0])...)
	if want := [][]netlink.HeaderType{{unix.NFT_MSG_NEWSETELEM, unix.NFT_MSG_DELSETELEM, unix.NFT_MSG_NEWSETELEM, unix.NFT_MSG_DELSETELEM}}; !cmp.Equal(f.sent, want) {
		t.Errorf("removing sent %v, want %v", f.sent, want)
	}
	loaded(t, n, true, peers[1])
}

// More than a thousand addresses are several transactions, of which one that fails
// does not keep the others back.
func TestEachThousandIsATransaction(t *testing.T) {
	f := newFakeNFT(t)
	n := f.backend()
	all := numbered(4, 2*batchSize+1)
	add(t, n, 0, peers...)
	f.sent, f.failures = nil, []unix.Errno{unix.ENOSPC}
	if err := n.Add(t.Context(), blocksOf(0, all...)); fault.From(err).Code != fault.FirewallFailed || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	if len(f.sent) != 3 {
		t.Errorf("%d transactions", len(f.sent))
	}
	loaded(t, n, true, append(all[batchSize:], peers...)...)
}

// What others did to the table is put right around the addresses in it: the table is
// not made anew, and no element is touched but the new one.
func TestChangedTableIsRepairedInPlace(t *testing.T) {
	input := hooks()[0].ownChain()
	for name, change := range map[string]func(*nftables.Conn){
		"a rule before ours": func(c *nftables.Conn) {
			c.InsertRule(&nftables.Rule{Table: ownTable(), Chain: input, Exprs: []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}})
		},
		"a rule behind ours": func(c *nftables.Conn) {
			c.AddRule(&nftables.Rule{Table: ownTable(), Chain: input, Exprs: []expr.Any{&expr.Counter{}}})
		},
		"none for neighbours, as an earlier version made it": func(c *nftables.Conn) {
			c.FlushChain(input)
			for _, r := range hooks()[0].rules()[1:] {
				c.AddRule(&nftables.Rule{Table: ownTable(), Chain: input, Exprs: r})
			}
		},
		"none for what NAT sends elsewhere, as an earlier version made it": func(c *nftables.Conn) {
			last := hooks()[3].ownChain()
			c.FlushChain(last)
			c.DelChain(last)
		},
		"no rules": func(c *nftables.Conn) { c.FlushChain(input) },
		"no chain": func(c *nftables.Conn) {
			c.FlushChain(input)
			c.DelChain(input)
		},
		"another policy": func(c *nftables.Conn) {
			other, drop := *input, nftables.ChainPolicyDrop
			other.Policy = &drop
			c.AddChain(&other)
		},
		"another priority": func(c *nftables.Conn) {
			other := *input
			other.Priority = nftables.ChainPriorityFilter
			c.AddChain(&other)
		},
		"another hook": func(c *nftables.Conn) {
			other := *input
			other.Hooknum = nftables.ChainHookPrerouting
			c.AddChain(&other)
		},
		"no base chain": func(c *nftables.Conn) {
			c.AddChain(&nftables.Chain{Name: input.Name, Table: ownTable()})
		},
		"a dormant table": nil, // which the library cannot make
	} {
		f := newFakeNFT(t)
		n := f.backend()
		add(t, n, time.Hour, peers...)
		fresh := f.ruleset.clone()
		if change == nil {
			f.sleep()
		} else {
			f.edit(change)
		}
		if t.Logf("%s", name); cmp.Equal(fresh, f.ruleset, cmp.AllowUnexported(fakeRuleset{}, object{})) {
			t.Error("nothing was changed")
		}
		loaded(t, n, false, peers...)
		add(t, n, time.Minute, strangers[0])
		if left := loaded(t, n, true, append(peers, strangers[0])...); left[peers[0]] != time.Hour {
			t.Errorf("%v", left)
		}
		for _, kinds := range f.sent {
			if slices.Contains(kinds, unix.NFT_MSG_DELTABLE) || slices.Contains(kinds, unix.NFT_MSG_DELSETELEM) {
				t.Errorf("sent %v", kinds)
			}
		}
	}
}

// A set of another kind cannot be repaired. The table is made anew in one
// transaction, with the addresses of every set that holds any.
func TestTableWithAnIncompatibleSetIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		set   nftables.Set
		holds bool // addresses, though not for ever or not enough
	}{
		"of ports":     {nftables.Set{KeyType: nftables.TypeInetService, HasTimeout: true}, false},
		"of ranges":    {nftables.Set{KeyType: nftables.TypeIPAddr, HasTimeout: true, Interval: true}, false},
		"without ends": {nftables.Set{KeyType: nftables.TypeIPAddr}, true},
		"with one end": {nftables.Set{KeyType: nftables.TypeIPAddr, HasTimeout: true, Timeout: time.Hour}, true},
		"a small one":  {nftables.Set{KeyType: nftables.TypeIPAddr, HasTimeout: true, Size: 10}, true},
	} {
		f := newFakeNFT(t)
		n := f.backend()
		add(t, n, time.Hour, peers...)
		other := c.set
		other.Table, other.Name = ownTable(), families[0].set
		f.edit(func(conn *nftables.Conn) { must(t, conn.AddSet(&other, nil)) })
		want := []netip.Addr{peers[1]}
		if c.holds {
			want = peers
		}
		t.Log(name)
		loaded(t, n, false, want...)
		add(t, n, 0, strangers[0])
		if len(f.sent) != 1 || !slices.Contains(f.sent[0], unix.NFT_MSG_DELTABLE) {
			t.Errorf("sent %v", f.sent)
		}
		loaded(t, n, true, append(want, strangers[0])...)

		f.edit(func(conn *nftables.Conn) { must(t, conn.AddSet(&other, nil)) })
		remove(t, n, peers[1])
		want = []netip.Addr{}
		if c.holds {
			want = append(want, peers[0], strangers[0])
		}
		loaded(t, n, true, want...)
	}
}

// A block that gets another end is deleted and added, because before Linux 6.12
// adding it again leaves it the old one.
func TestNewEndReachesOldKernels(t *testing.T) {
	f := newFakeNFT(t)
	n := f.backend()
	add(t, n, time.Hour, peers...)
	add(t, n, 2*time.Hour, peers[0])
	if left := loaded(t, n, true, peers...); left[peers[0]] != 2*time.Hour || left[peers[1]] != time.Hour {
		t.Errorf("%v", left)
	}
}

// What fails because another program changed something is done again, and what the
// kernel refuses is not.
func TestTransactionsAreRepeatedWhereThatHelps(t *testing.T) {
	f := newFakeNFT(t)
	n := f.backend()
	f.failures = []unix.Errno{unix.ENOENT, unix.EBUSY, unix.EEXIST}
	add(t, n, time.Hour, peers...)
	if len(f.sent) != 4 {
		t.Errorf("%d transactions", len(f.sent))
	}
	loaded(t, n, true, peers...)
	f.sent, f.failures = nil, slices.Repeat([]unix.Errno{unix.EBUSY}, 100)
	if err := n.Add(t.Context(), blocksOf(0, strangers...)); !errors.Is(err, unix.EBUSY) || len(f.sent) != maxAttempts {
		t.Errorf("busy for ever: %d transactions, %v", len(f.sent), err)
	}
	f.sent, f.failures = nil, []unix.Errno{unix.ENOMEM}
	if err := n.Remove(t.Context(), peers); fault.From(err).Code != fault.FirewallFailed || len(f.sent) != 1 {
		t.Errorf("refused: %d transactions, %v", len(f.sent), err)
	}
	f.failures = nil
	loaded(t, n, true, peers...)
}

// A part of the list is not taken for the whole.
func TestInterruptedReadingIsRepeated(t *testing.T) {
	f := newFakeNFT(t)
	n := f.backend()
	add(t, n, time.Hour, peers...)
	asked, interruptions := 0, 3
	f.reply[unix.NFT_MSG_GETSETELEM] = func(replies []netlink.Message) []netlink.Message {
		if asked++; asked > interruptions {
			return replies
		}
		return []netlink.Message{{Header: netlink.Header{Type: nftMessage | unix.NFT_MSG_NEWSETELEM, Flags: netlink.DumpInterrupted}, Data: make([]byte, nfgenmsg)}}
	}
	loaded(t, n, true, peers...)
	asked, interruptions = 0, 1000
	if blocks, _, err := n.Loaded(t.Context()); fault.From(err).Code != fault.FirewallFailed || asked != maxAttempts {
		t.Errorf("%v, %v after %d questions", blocks, err, asked)
	}
}

// No list is better than one that is made up of damaged answers.
func TestDamagedAnswersAreErrors(t *testing.T) {
	for name, body := range map[string]string{
		"short":                "0100",
		"cut off":              "01000000 20000380 1c000180 0c000180 08000100 c0000201",
		"a limit of 4 bytes":   "01000000 1c000380 18000180 0c000180 08000100 c0000201 08000400 0036ee80",
		"an attribute of none": "01000000 03000380",
	} {
		f := newFakeNFT(t)
		n := f.backend()
		add(t, n, time.Hour, peers...)
		f.reply[unix.NFT_MSG_GETSETELEM] = func(replies []netlink.Message) []netlink.Message {
			replies[0].Data = unhex(t, body)
			return replies
		}
		if blocks, _, err := n.Loaded(t.Context()); fault.From(err).Code != fault.FirewallFailed || !errors.Is(err, netattr.ErrFormat) || len(blocks) != 0 {
			t.Errorf("%s: %v, %v", name, blocks, err)
		}
		if _, there, _, err := n.Find(t.Context(), peers[0]); there || !errors.Is(err, netattr.ErrFormat) {
			t.Errorf("%s: found %v, %v", name, there, err)
		}
	}
}

// A set that the kernel is rearranging is shown in part, and some of that twice, to any number of readings.
func TestAListWithAnAddressTwiceIsNotWhole(t *testing.T) {
	list := func(last ...byte) (blocks []blocklist.Block) {
		for _, b := range last {
			blocks = append(blocks, blocklist.Block{Address: netip.AddrFrom4([4]byte{192, 0, 2, b})})
		}
		return blocks
	}
	for _, c := range []struct {
		a, b []blocklist.Block
		same bool
	}{
		{list(1, 2, 3), list(3, 1, 2), true},
		{list(1, 2), list(1, 2, 3), false},
		{list(1, 2), list(1, 3), false},
		{list(1, 2), list(1, 1), false},
		{list(1, 1), list(1, 1), false},
		{list(1, 1, 2), list(1, 1, 2), false},
	} {
		if got := sameAddresses(c.a, c.b); got != c.same {
			t.Errorf("%v, %v: %v", c.a, c.b, got)
		}
	}
}
