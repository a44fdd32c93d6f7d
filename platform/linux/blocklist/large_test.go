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
	"testing"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
)

// Right after it took tens of thousands of addresses the kernel shows a part of
// them, which is neither a failure nor all that there is.
func TestLargeListIsRestoredAndTakenOverWhole(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	const many = 50_000
	path := filepath.Join(t.TempDir(), "blocklist.json")
	list := blocklist.New(path, func(context.Context) (blocklist.Backend, error) { return NewNftables(), nil }, NewHostContext("/"), nil, nil)
	for range 4 {
		must(t, os.WriteFile(path, []byte(listOf(many)), 0o644))
		if out, err := try("nft flush ruleset"); err != nil {
			t.Fatal(out)
		}
		r, err := list.Restore(t.Context())
		if err != nil || r.Added != many {
			t.Errorf("%d added, %v", r.Added, err)
		}
		must(t, os.Remove(path))
		if r, err := list.Restore(t.Context()); err != nil || r.Adopted != many || r.Removed != 0 {
			t.Errorf("%d taken over, %d removed, %v", r.Adopted, r.Removed, err)
		}
		must(t, os.Remove(path))
	}
}

// The kernel answers to each message of a transaction, however many it has.
func TestTableOfVeryManyAddressesIsReplacedAtOnce(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	const many = 240_000
	var blocks []blocklist.Block
	for i := range many {
		blocks = append(blocks, blocklist.Block{Address: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})})
	}
	n := NewNftables()
	if err := n.rebuild(t.Context(), n.open(t.Context()), layout{}, blocks, nil); err != nil {
		t.Error(err)
	}
	if have, err := n.readLayout(t.Context()); err != nil || !have.effective() {
		t.Errorf("in effect %v, %v", have.effective(), err)
	}
}

// listOf is a file with n addresses.
func listOf(n int) string {
	var b strings.Builder
	b.WriteString(`{"version":1,"entries":[` + "\n")
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `{"ip":"10.%d.%d.%d","reason":"x","blocked_by":"root","blocked_at":"2026-03-01T12:00:00Z"}`, i>>16, i>>8&255, i&255)
	}
	return b.String() + "\n]}\n"
}
