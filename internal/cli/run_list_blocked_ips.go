// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
)

// A blockedDocument answers list_blocked_ips.
type blockedDocument struct {
	answer.Header
	blocklist.Listing
}

// maxBlocked is the size in bytes up to which a list that nobody lengthened is
// not cut.
const maxBlocked = 19_000

func runListBlocked(ctx context.Context, s session, call invocation) (document, error) {
	listing, err := s.blocklist(ctx).Read(ctx, call.capped(blocklist.DefaultIPs), call.capped(blocklist.DefaultEntries))
	if err != nil {
		return nil, err
	}
	d := &blockedDocument{answer.NewHeader(call.op.Action, true), listing}
	if call.rows == defaultRows {
		d.fit()
	}
	return d, nil
}

// fit shortens the longest lists until the document keeps its bound: reasons
// and IPv6 addresses may be long.
func (d *blockedDocument) fit() {
	for len(d.IPs)+len(d.Entries) > 0 {
		raw, err := encode(d, false)
		if err != nil || len(raw) <= maxBlocked {
			return
		}
		d.Truncated = true
		d.Entries, d.IPs = d.Entries[:len(d.Entries)*9/10], d.IPs[:len(d.IPs)*9/10]
	}
}

func (d *blockedDocument) view(p *page) {
	switch {
	case d.EntriesTotal == 0 && d.IPsTotal == 0:
		p.verdict(calm, "NONE", "No address is blocked.")
	case d.InStep == nil:
		p.verdict(calm, "LISTED", fmt.Sprintf("%d addresses are on the list; whether the packet filter drops them cannot be seen here.", d.EntriesTotal))
	case *d.InStep:
		p.verdict(calm, "BLOCKED", fmt.Sprintf("%d addresses are dropped by %s.", d.IPsTotal, d.Backend))
	default:
		p.verdict(warn, "DRIFT", fmt.Sprintf("%s drops %d addresses and the list has %d. Run: sudo sentinel --restore-blocklist", d.Backend, d.IPsTotal, d.EntriesTotal))
	}
	p.warnings(d.Warnings)
	var rows [][]string
	for _, e := range d.Entries {
		rows = append(rows, []string{e.IP, stateText(e), known(e.ExpiresAt), known(e.BlockedBy), known(e.Reason)})
	}
	p.table("", []column{{title: "address"}, {title: "dropped"}, {title: "until"}, {title: "by"}, {title: "why"}}, rows)
	p.gaps(d.Unavailable)
}

func stateText(e blocklist.Row) string {
	if e.Suspended {
		return "suspended"
	}
	return yesNo(e.InKernel)
}
