// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/firewall"
)

// A family is IPv4 or IPv6.
type family struct {
	set    string
	key    nftables.SetDatatype
	number byte   // NFPROTO_IPV4 or NFPROTO_IPV6
	source uint32 // where the header holds the source; the destination follows
	size   uint32 // of an address, in bytes
}

// families are both, with the offsets of RFC 791 and RFC 8200.
var families = []family{
	{"blocked4", nftables.TypeIPAddr, unix.NFPROTO_IPV4, 12, 4},
	{"blocked6", nftables.TypeIP6Addr, unix.NFPROTO_IPV6, 8, 16},
}

func (f family) of(a netip.Addr) bool { return a.BitLen() == int(f.size)*8 }

// A hook is one of our base chains and the ends of a packet that it looks at.
type hook struct {
	chain        string
	number       *nftables.ChainHook
	sources, dst bool
}

// hooks are all places that a packet of this machine, or one that it forwards,
// passes. What Docker publishes is forwarded. The last one sees where a packet of this machine goes
// after rules of NAT have sent it elsewhere, as kube-proxy does with the addresses of services.
func hooks() []hook {
	return []hook{
		{"input", nftables.ChainHookInput, true, false},
		{"output", nftables.ChainHookOutput, false, true},
		{"forward", nftables.ChainHookForward, true, true},
		{"postrouting", nftables.ChainHookPostrouting, false, true},
	}
}

func ownTable() *nftables.Table {
	return &nftables.Table{Name: firewall.OwnTable, Family: nftables.TableFamilyINet}
}

func (f family) ownSet() *nftables.Set {
	return &nftables.Set{Table: ownTable(), Name: f.set, KeyType: f.key, HasTimeout: true}
}

// ownChain comes before conntrack, NAT and every firewall, so that an
// established connection is cut as well.
func (h hook) ownChain() *nftables.Chain {
	accept := nftables.ChainPolicyAccept
	return &nftables.Chain{
		Name: h.chain, Table: ownTable(), Type: nftables.ChainTypeFilter,
		Hooknum: h.number, Priority: nftables.ChainPriorityRaw, Policy: &accept,
	}
}

// rules returns the rules of the chain, in order: those of neighbours, then
// "ip saddr @blocked4 counter drop". What is forwarded is nothing that this machine finds its neighbours by.
func (h hook) rules() [][]expr.Any {
	var list [][]expr.Any
	if h.chain != "forward" {
		list = append(list, listeners(), neighbours())
	}
	for _, f := range families {
		if h.sources {
			list = append(list, f.rule(f.source))
		}
		if h.dst {
			list = append(list, f.rule(f.source+f.size))
		}
	}
	return list
}

// neighbours is "ip6 hoplimit 255 icmpv6 type 133-137 accept". It accepts for this chain alone: what a
// firewall decides comes after it.
func neighbours() []expr.Any {
	const hopLimit = 7 // offset in the header, RFC 8200
	return acceptICMPv6(blocklist.NeighboursFrom, blocklist.NeighboursTo,
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: hopLimit, Len: 1}, equal(blocklist.NeighbourHops))
}

// listeners is "ip6 saddr fe80::/10 icmpv6 type 130-132 accept".
func listeners() []expr.Any {
	p, six := blocklist.LinkLocal, families[1]
	return acceptICMPv6(blocklist.ListenersFrom, blocklist.ListenersTo,
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: six.source, Len: six.size},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: six.size, Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()), Xor: make([]byte, six.size)},
		equal(p.Addr().AsSlice()...))
}

func acceptICMPv6(from, to byte, condition ...expr.Any) []expr.Any {
	return slices.Concat([]expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, equal(unix.NFPROTO_IPV6),
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equal(unix.IPPROTO_ICMPV6),
	}, condition, []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 1},
		&expr.Cmp{Op: expr.CmpOpGte, Register: 1, Data: []byte{from}},
		&expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: []byte{to}},
		&expr.Verdict{Kind: expr.VerdictAccept},
	})
}

func equal(value ...byte) expr.Any {
	return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: value}
}

func (f family) rule(offset uint32) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{f.number}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: f.size},
		&expr.Lookup{SourceRegister: 1, SetName: f.set},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}
}

// elements turns the blocks of the family into set elements.
func (f family) elements(blocks []blocklist.Block) []nftables.SetElement {
	var list []nftables.SetElement
	for _, b := range blocks {
		if f.of(b.Address) {
			list = append(list, nftables.SetElement{Key: b.Address.AsSlice(), Timeout: elementTimeout(b.Left)})
		}
	}
	return list
}

// elementTimeout rounds up to milliseconds: 0 would be no limit, and a block that
// is over ends at once.
func elementTimeout(left time.Duration) time.Duration {
	if left == 0 {
		return 0
	}
	return max(time.Millisecond, (left + time.Millisecond - 1).Truncate(time.Millisecond))
}

// A layout is what exists of our table.
type layout struct {
	table  *nftables.Table // nil: nothing is
	sets   map[string]*nftables.Set
	chains map[string]*nftables.Chain
	rules  map[string][]*nftables.Rule
}

// incompatible says that the table cannot be repaired in place: a set with the
// name of ours is of another kind.
func (l layout) incompatible() bool {
	return slices.ContainsFunc(families, func(f family) bool { s := l.sets[f.set]; return s != nil && !f.fits(s) })
}

// fits says whether a set can take the addresses. A time limit of the set would
// end permanent blocks, and a size would refuse some.
func (f family) fits(s *nftables.Set) bool {
	return f.single(s) && s.HasTimeout && s.Timeout == 0 && s.Size == 0
}

// single says whether the elements of a set are single addresses.
func (f family) single(s *nftables.Set) bool {
	return s.KeyType.Name == f.key.Name && s.KeyType.Bytes == f.size && !s.Interval && !s.IsMap && !s.Constant && !s.Concatenation
}

// holds says whether there is a set of addresses of the family, fit or not.
func (l layout) holds(f family) bool {
	s := l.sets[f.set]
	return s != nil && f.single(s)
}

// effective says that the table blocks what is in its sets.
func (l layout) effective() bool {
	if l.table == nil || dormant(l.table) || l.incompatible() {
		return false
	}
	missing := slices.ContainsFunc(families, func(f family) bool { return l.sets[f.set] == nil })
	return !missing && !slices.ContainsFunc(hooks(), func(h hook) bool { return !l.hooked(h) || !l.intact(h) })
}

// dormant looks for the flag in either byte order, because the library reads it in
// the wrong one.
func dormant(t *nftables.Table) bool {
	const flag = 1 // NFT_TABLE_F_DORMANT
	return (t.Flags|bits.ReverseBytes32(t.Flags))&flag != 0
}

// hooked says whether the chain has the type, hook and priority that it should
// have.
func (l layout) hooked(h hook) bool {
	c, want := l.chains[h.chain], h.ownChain()
	return c != nil && c.Type == want.Type && c.Hooknum != nil && *c.Hooknum == *want.Hooknum &&
		c.Priority != nil && *c.Priority == *want.Priority
}

// intact says whether the chain has our rules and no others: an accept before them
// would let through what they block.
func (l layout) intact(h hook) bool {
	want, have := h.rules(), l.rules[h.chain]
	policy := l.chains[h.chain].Policy
	if policy == nil || *policy != nftables.ChainPolicyAccept {
		return false
	}
	return slices.EqualFunc(have, want, func(r *nftables.Rule, w []expr.Any) bool { return sameExprs(r.Exprs, w) })
}

func sameExprs(have, want []expr.Any) bool {
	return slices.EqualFunc(have, want, func(a, b expr.Any) bool {
		switch a := a.(type) {
		case *expr.Counter:
			_, counter := b.(*expr.Counter)
			return counter
		case *expr.Lookup:
			b, lookup := b.(*expr.Lookup)
			return lookup && a.SourceRegister == b.SourceRegister && a.SetName == b.SetName && !a.Invert && !a.IsDestRegSet
		default:
			return reflect.DeepEqual(a, b)
		}
	})
}

// repair adds to the transaction what makes the table effective. Chains keep their
// place and sets their addresses, so that at no moment less is blocked than before.
func (l layout) repair(conn *nftables.Conn) error {
	if l.effective() {
		return nil
	}
	conn.AddTable(ownTable()) // wakes one that is dormant
	for _, f := range families {
		if l.sets[f.set] == nil {
			if err := conn.AddSet(f.ownSet(), nil); err != nil {
				return err
			}
		}
	}
	for _, h := range hooks() {
		l.repairChain(conn, h)
	}
	return nil
}

func (l layout) repairChain(conn *nftables.Conn, h hook) {
	chain, based := h.ownChain(), l.hooked(h)
	if based && l.intact(h) {
		return
	}
	if l.chains[h.chain] != nil && !based {
		conn.FlushChain(chain)
		conn.DelChain(chain)
	}
	conn.AddChain(chain)
	conn.FlushChain(chain) // another process may have made it meanwhile
	for _, r := range h.rules() {
		conn.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, Exprs: r})
	}
}

// readLayout reads our table without the elements of its sets.
func (n Nftables) readLayout(ctx context.Context) (layout, error) {
	l := layout{sets: map[string]*nftables.Set{}, chains: map[string]*nftables.Chain{}, rules: map[string][]*nftables.Rule{}}
	conn, own := n.open(ctx), ownTable()
	tables, err := conn.ListTablesOfFamily(own.Family)
	if err != nil {
		return l, err
	}
	at := slices.IndexFunc(tables, func(t *nftables.Table) bool { return t.Name == own.Name })
	if at < 0 {
		return l, nil
	}
	l.table = tables[at]
	sets, err := conn.GetSets(own)
	if err != nil {
		return l, changedMeanwhile(err)
	}
	for _, s := range sets {
		l.sets[s.Name] = s
	}
	return l, l.readChains(conn)
}

func (l layout) readChains(conn *nftables.Conn) error {
	own := ownTable()
	chains, err := conn.ListChainsOfTableFamily(own.Family)
	if err != nil {
		return err
	}
	for _, c := range chains {
		if c.Table.Name != own.Name {
			continue
		}
		l.chains[c.Name] = c
		if !slices.ContainsFunc(hooks(), func(h hook) bool { return h.chain == c.Name }) {
			continue
		}
		if l.rules[c.Name], err = conn.GetRules(own, c); err != nil {
			return changedMeanwhile(err)
		}
	}
	return nil
}

// changedMeanwhile marks the failure to read something that was there a moment ago.
// The library passes the kernel's error on as text only.
func changedMeanwhile(err error) error { return fmt.Errorf("%w: %w", errInterrupted, err) }
