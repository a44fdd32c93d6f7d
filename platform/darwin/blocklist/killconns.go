// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"net/netip"

	"sentinel/internal/blocklist"
	"sentinel/platform/darwin/pfctl"
)

// A ConnKiller makes pf forget the connections with an address. pf compares the
// packets of a known connection with no rule, so a block alone would not end it.
//
// macOS cannot close the sockets of other programs: these wait, cut off, until they time
// out. A connection that pf never knew of, because the stock rules pass without keeping state,
// is cut off by the block alone and not counted.
type ConnKiller struct{ Tool pfctl.Tool }

var _ blocklist.ConnKiller = ConnKiller{}

// Kill implements [blocklist.ConnKiller]. The count is of connections that pf knew.
func (c ConnKiller) Kill(ctx context.Context, address netip.Addr) (int, error) {
	return c.Tool.Kill(ctx, address)
}
