// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/humanize"
)

// A blockedDocument answers list_blocked_ips.
type blockedDocument struct {
	answer.Header
	blocklist.Listing
}

func runListBlocked(ctx context.Context, s session, call invocation) (document, error) {
	listing, err := s.blocklist().Read(ctx, call.capped(blocklist.DefaultIPs), call.capped(blocklist.DefaultEntries))
	if err != nil {
		return nil, err
	}
	for i := range listing.Warnings {
		listing.Warnings[i] = s.named(listing.Warnings[i])
	}
	d := &blockedDocument{answer.NewHeader(call.op.Action, true), listing}
	switch {
	case call.request:
		d.fit(usualAnswer)
	case call.rows == defaultRows:
		d.fit(longAnswer)
	}
	return d, nil
}

// fit shortens the longest lists until the document keeps its bound: reasons
// and IPv6 addresses may be long.
func (d *blockedDocument) fit(size int) {
	fit(d, size, func() bool {
		more := len(d.IPs)+len(d.Entries) > 0
		d.Entries, d.IPs, d.Truncated = fewer(d.Entries), fewer(d.IPs), true
		return more
	})
}

func (d *blockedDocument) advise(f func(string) string) document {
	for i := range d.Warnings {
		d.Warnings[i] = f(d.Warnings[i])
	}
	return d
}

func (d *blockedDocument) view(p *page) {
	switch {
	case d.EntriesTotal == 0 && d.IPsTotal == 0:
		p.verdict(calm, "NONE", d.noneText())
	case d.InSync == nil:
		p.verdict(calm, "LISTED", humanize.Count(d.EntriesTotal, "address", "addresses")+" on the list; whether the packet filter drops them cannot be seen here.")
	case *d.InSync:
		p.verdict(calm, "BLOCKED", fmt.Sprintf("%s dropped by %s.", humanize.Count(d.IPsTotal, "address", "addresses"), d.Backend))
	default:
		p.verdict(warn, "DRIFT", fmt.Sprintf("%s drops %s, and the list has %d.", d.Backend, humanize.Count(d.IPsTotal, "address", "addresses"), d.EntriesTotal))
	}
	p.warnings(d.Warnings)
	d.drift(p)
	var rows [][]string
	for _, e := range d.Entries {
		rows = append(rows, []string{e.IP, stateText(e), endText(e), known(e.BlockedBy), known(e.Reason)})
	}
	p.table("", []column{{title: "address", whole: true}, {title: "dropped"}, {title: "until", whole: true}, {title: "by"}, {title: "why"}}, rows)
	p.gaps(d.Unavailable)
}

// noneText does not say more than was read.
func (d *blockedDocument) noneText() string {
	if d.InSync == nil {
		return "No address is on the list; whether the packet filter drops any cannot be seen here."
	}
	return "No address is blocked."
}

// drift names the addresses about which list and packet filter differ.
func (d *blockedDocument) drift(p *page) {
	if d.Drift == nil {
		return
	}
	p.few("On the list and not dropped", d.Drift.Missing, d.Drift.MissingTotal)
	p.few("Dropped and not on the list", d.Drift.Unlisted, d.Drift.UnlistedTotal)
}

// few writes the first of a list as one paragraph.
func (p *page) few(what string, list []string, total int) {
	const most = 10
	switch shown := list[:min(most, len(list))]; {
	case total == 0:
	case len(shown) < total:
		p.line("%s: %s and %d more (--json shows more)", what, strings.Join(shown, ", "), total-len(shown))
	default:
		p.line("%s: %s", what, strings.Join(shown, ", "))
	}
}

// endText says when a block ends, in local time as the history does.
func endText(e blocklist.Row) string {
	if e.Permanent {
		return "never"
	}
	return whenText(e.ExpiresAt)
}

func stateText(e blocklist.Row) string {
	if e.Suspended {
		return "suspended"
	}
	return yesNo(e.InKernel)
}
