// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"net/netip"

	"sentinel/internal/blocklist"
	"sentinel/platform/darwin/pfctl"
)

// A ConnKiller makes pf forget the connections with an address. pf compares the
// packets of a connection that it knows with no rule, so that a block would not end it.
//
// macOS has no means to close the sockets of other programs: these wait, cut off, until
// their own time limits. A connection that pf never knew of, as with the stock rules,
// which pass without keeping state, is cut off by the block alone and not counted.
type ConnKiller struct{ Tool pfctl.Tool }

var _ blocklist.ConnKiller = ConnKiller{}

// Cut implements [blocklist.ConnKiller]. The count is of connections that pf knew.
func (c ConnKiller) Kill(ctx context.Context, address netip.Addr) (int, error) {
	return c.Tool.Kill(ctx, address)
}
