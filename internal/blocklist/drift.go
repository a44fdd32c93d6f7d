// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// maxDrift bounds the examples of what differs.
const maxDrift = 50

// slack is how far list and kernel may be apart about the end of a block. Both
// round.
const slack = 2 * time.Second

// compare sets what list and kernel differ in. An address that the kernel alone
// holds is blocked too, so that it joins the addresses, after those whose age is known; one
// whose block has ended does not, for it is only waiting for the timer.
func (r *Listing) compare(entries []entry, k *kernel, now time.Time) {
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
	r.differ(d)
}

func (r *Listing) differ(d Drift) {
	d.MissingTotal, d.UnlistedTotal = len(d.Missing), len(d.Unlisted)
	d.Missing, d.Unlisted = atMost(d.Missing, maxDrift), atMost(d.Unlisted, maxDrift)
	r.InStep = new(d.MissingTotal+d.UnlistedTotal == 0)
	if !*r.InStep {
		r.Drift = &d
		r.Warnings = append(r.Warnings, "List and packet filter differ; make the packet filter match the list with: sudo sentinel --restore-blocklist")
	}
}

// atMost returns the first n of a list; 0 means all.
func atMost(list []string, n int) []string {
	if n == 0 || len(list) <= n {
		return list
	}
	return list[:n]
}
