// SPDX-License-Identifier: Apache-2.0

package blocklisttest

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"sentinel/internal/blocklist"
)

// Blocks makes blocks of addresses that end alike.
func Blocks(left time.Duration, addresses ...netip.Addr) []blocklist.Block {
	var list []blocklist.Block
	for _, a := range addresses {
		list = append(list, blocklist.Block{Address: a, Left: left})
	}
	return list
}

// Numbered makes up n addresses of a family, 4 or 6.
func Numbered(family, n int) []netip.Addr {
	a := netip.MustParseAddr("10.0.0.1")
	if family == 6 {
		a = netip.MustParseAddr("2001:db8:ffff::1")
	}
	var list []netip.Addr
	for range n {
		list = append(list, a)
		a = a.Next()
	}
	return list
}

// Add adds addresses to b.
func Add(t *testing.T, b blocklist.Backend, left time.Duration, addresses ...netip.Addr) {
	t.Helper()
	if err := b.Add(t.Context(), Blocks(left, addresses...)); err != nil {
		t.Fatal(err)
	}
}

// Remove removes addresses from b.
func Remove(t *testing.T, b blocklist.Backend, addresses ...netip.Addr) {
	t.Helper()
	if err := b.Remove(t.Context(), addresses); err != nil {
		t.Fatal(err)
	}
}

// Loaded checks what b holds, and returns what is left of each.
func Loaded(t *testing.T, b blocklist.Backend, effective bool, want ...netip.Addr) map[netip.Addr]time.Duration {
	t.Helper()
	blocks, works, err := b.Loaded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := map[netip.Addr]time.Duration{}
	for _, block := range blocks {
		if _, twice := left[block.Address]; twice {
			t.Errorf("%s is listed twice", block.Address)
		}
		left[block.Address] = block.Left
	}
	if works != effective || len(left) != len(want) || slices.ContainsFunc(want, func(a netip.Addr) bool { _, ok := left[a]; return !ok }) {
		t.Errorf("loaded %d addresses, effective %v; want %d, %v", len(left), works, len(want), effective)
	}
	return left
}

// MustLoad returns what b holds.
func MustLoad(t *testing.T, b blocklist.Backend) []blocklist.Block {
	t.Helper()
	blocks, _, err := b.Loaded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// Found checks that Find, where b has it, finds these addresses and no
// stranger.
func Found(t *testing.T, b blocklist.Backend, strangers []netip.Addr, effective bool, want ...netip.Addr) {
	t.Helper()
	f, ok := b.(blocklist.Finder)
	if !ok {
		return
	}
	for i, a := range slices.Concat(want, strangers) {
		if a.Is4() {
			a = netip.AddrFrom16(a.As16())
		}
		block, there, works, err := f.Find(t.Context(), a)
		if err != nil || there != (i < len(want)) || works != effective || there && block.Address != a.Unmap() {
			t.Errorf("%s: %v, found %v, effective %v, %v", a, block, there, works, err)
		}
	}
}
