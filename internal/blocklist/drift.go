// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/humanize"
)

// maxDrift bounds the examples of what differs.
const maxDrift = 50

// slack is how far list and kernel may differ about the end of a block. Both
// round.
const slack = 2 * time.Second

// compare notes how list and kernel differ. An address that only the kernel holds
// is blocked too, so it joins the addresses, after those whose age is known; one whose block
// has ended does not, because it is only waiting for the timer.
func (r *Listing) compare(entries []entry, missing bool, k *filterState, now time.Time) {
	d := Drift{RulesInPlace: k.effective, Missing: []string{}, Unlisted: []string{}}
	listed, known := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, e := range entries {
		known[e.Address] = true
		listed[e.Address] = e.Suspended == "" && !e.over(now)
		if listed[e.Address] && !k.drops(e.Address) {
			d.Missing = append(d.Missing, e.Address.String())
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(k.left), netip.Addr.Compare) {
		if left := k.left[a]; listed[a] || left > 0 && left <= slack {
			continue
		}
		d.Unlisted = append(d.Unlisted, a.String())
		if !known[a] && k.effective {
			r.IPs = append(r.IPs, a.String())
		}
	}
	r.differ(d, missing)
}

// differ notes the differences and what a restore would do about them. Where the
// file is missing, a restore takes over what is dropped.
func (r *Listing) differ(d Drift, missing bool) {
	d.MissingTotal, d.UnlistedTotal = len(d.Missing), len(d.Unlisted)
	d.Missing, d.Unlisted = atMost(d.Missing, maxDrift), atMost(d.Unlisted, maxDrift)
	r.InSync = new(d.MissingTotal+d.UnlistedTotal == 0)
	if !*r.InSync {
		r.Drift = &d
		r.Warnings = append(r.Warnings, "List and packet filter differ. "+d.remedy(missing)+": sudo sentinel --restore-blocklist")
	}
}

// remedy says what a restore would do, above all that it unblocks what only the
// packet filter has.
func (d Drift) remedy(missing bool) string {
	switch {
	case missing:
		return fmt.Sprintf("There is no list; this makes one of the %s that the packet filter drops", humanize.Count(d.UnlistedTotal, "address", "addresses"))
	case d.UnlistedTotal == 0:
		return fmt.Sprintf("This makes the packet filter drop the %s missing there", humanize.Count(d.MissingTotal, "address", "addresses"))
	default:
		return fmt.Sprintf("This makes the packet filter match the list; %s that it alone drops would be let in again (block first what is to stay out)", humanize.Count(d.UnlistedTotal, "address", "addresses"))
	}
}

// atMost returns the first n of a list; 0 means all.
func atMost(list []string, n int) []string {
	if n == 0 || len(list) <= n {
		return list
	}
	return list[:n]
}
