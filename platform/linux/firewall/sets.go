// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"

	"sentinel/internal/firewall"
)

// A setContent is what a set or map held when it was read.
type setContent struct {
	read bool // false for one that was not, because it may be large
	keys []setKey
}

// A setKey is one element, or a range of them with both ends in it.
type setKey struct {
	from, to []byte
	parts    bool   // it is a concatenation, and each of its parts has a range
	value    []byte // of a map
}

// readSets reads the sets and maps that rules look packets up in. Of those that have a name, hosts may
// be in them by the hundred thousand, and only verdict maps and sets without addresses are read.
func readSets(conn *nftables.Conn, table *nftables.Table, rules []*nftables.Rule) (map[string]setContent, error) {
	sets := map[string]setContent{}
	for _, l := range lookups(rules) {
		if _, done := sets[l.SetName]; done {
			continue
		}
		if table.Name == firewall.BaselineTable && isLiveSet(l.SetName) {
			sets[l.SetName] = setContent{read: true} // of connections that are open; none that begins is in it
			continue
		}
		content, err := readSet(conn, table, l)
		if err != nil {
			return nil, err
		}
		sets[l.SetName] = content
	}
	return sets, nil
}

func readSet(conn *nftables.Conn, table *nftables.Table, l *expr.Lookup) (setContent, error) {
	set, err := conn.GetSetByName(table, l.SetName)
	known := err == nil // the library does not know the types of all keys
	if !known {
		set = &nftables.Set{Table: table, Name: l.SetName}
	}
	if !isVerdictMap(l) && (!known || !set.Anonymous && (set.Dynamic || strings.Contains(set.KeyType.Name, "addr"))) {
		return setContent{}, nil
	}
	elements, err := conn.GetSetElements(&nftables.Set{Table: table, Name: l.SetName})
	if err != nil {
		return setContent{}, err
	}
	return setContent{read: known, keys: keysOf(elements, set.Interval)}, nil
}

// contains is the match of the keys that are in the set, and begin at a register.
func (s setContent) contains(r *registers, register uint32) firewall.Match {
	if !s.read {
		return unreadSet(r, register)
	}
	m := firewall.Never
	for _, k := range s.keys {
		if m = m.Or(k.matches(r, register)); m == firewall.Always {
			break
		}
	}
	return m
}

// unreadSet is the match of a set whose elements are not known: where it is one of addresses it
// holds some hosts, perhaps, and not all.
func unreadSet(r *registers, register uint32) firewall.Match {
	for _, c := range r.at(register, 16) {
		if c.certainty == ofHost {
			return firewall.PerhapsSome
		}
	}
	return firewall.Unsure
}

// keysOf puts the elements in order. In a set of intervals, one element begins a range and the next,
// which may only end it, is the first behind it; the last range may have no end.
func keysOf(elements []nftables.SetElement, intervals bool) []setKey {
	list := slices.Clone(elements)
	slices.SortStableFunc(list, func(a, b nftables.SetElement) int {
		return cmp.Or(bytes.Compare(a.Key, b.Key), endFirst(a, b))
	})
	var keys []setKey
	for i, e := range list {
		k := setKey{from: e.Key, to: e.Key, value: e.Val}
		switch {
		case e.IntervalEnd:
			continue
		case len(e.KeyEnd) > 0:
			k.to, k.parts = e.KeyEnd, true
		case intervals && i+1 < len(list):
			k.to = before(list[i+1].Key)
		case intervals:
			k.to = bytes.Repeat([]byte{0xff}, len(e.Key))
		}
		keys = append(keys, k)
	}
	return keys
}

func endFirst(a, b nftables.SetElement) int {
	switch {
	case a.IntervalEnd == b.IntervalEnd:
		return 0
	case a.IntervalEnd:
		return -1
	default:
		return 1
	}
}

// before is the number before that in b.
func before(b []byte) []byte {
	b = slices.Clone(b)
	for i := len(b) - 1; i >= 0; i-- {
		b[i]--
		if b[i] != 0xff {
			break
		}
	}
	return b
}

func (k setKey) matches(r *registers, register uint32) firewall.Match {
	in := r.at(register, len(k.from))
	switch {
	case len(k.from) == 0 || len(k.to) != len(k.from):
		return firewall.Unsure
	case bytes.Equal(k.from, k.to):
		return equals(in, k.from)
	case k.parts:
		return k.between(in)
	default:
		return atLeast(in, k.from).And(atMost(in, k.to))
	}
}

// between looks at a concatenation register by register. A part can fill several of them, as an
// address of IPv6 does; then those behind the first that differs decide nothing.
func (k setKey) between(in []cell) firewall.Match {
	m := firewall.Always
	for at := 0; at < len(in); at += 4 {
		end := min(at+4, len(in))
		from, to := k.from[at:end], k.to[at:end]
		if bytes.Equal(from, to) {
			m = m.And(equals(in[at:end], from))
			continue
		}
		part := atLeast(in[at:end], from).And(atMost(in[at:end], to))
		if part == firewall.Never {
			part = firewall.Unsure
		}
		m = m.And(part)
	}
	return m
}
