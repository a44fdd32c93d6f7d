// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// maxText bounds each text of an entry, in runes.
const maxText = 200

// maxEntries bounds the list: more would make every block slow.
const maxEntries = 100_000

// An entry is one block as the file keeps it. Times are whole seconds in UTC.
type entry struct {
	Address netip.Addr `json:"ip"`
	Reason  string     `json:"reason"`
	By      string     `json:"blocked_by"`
	At      time.Time  `json:"blocked_at"`
	Ends    time.Time  `json:"expires_at,omitzero"` // zero: never
	// Suspended is why the address is not dropped although it is listed: what this
	// machine came to depend on it for.
	Suspended string `json:"suspended,omitempty"`
	// Forced says that it was blocked although this machine depended on it. That
	// is no reason to suspend it.
	Forced bool `json:"forced,omitempty"`
}

// over says that the block has ended at now.
func (e entry) over(now time.Time) bool { return !e.Ends.IsZero() && !now.Before(e.Ends) }

// left is how much longer the kernel shall keep the block: 0 means for ever. A
// clock that was set back never makes that longer than the block was meant to last.
func (e entry) left(now time.Time) time.Duration {
	if e.Ends.IsZero() {
		return 0
	}
	return max(min(e.Ends.Sub(now), e.Ends.Sub(e.At)), time.Second)
}

// author says in words who asked for the block.
func (e entry) author() string { return cmp.Or(cleanText(e.By), "somebody") }

// block returns e as the kernel shall hold it.
func (e entry) block(now time.Time) Block { return Block{e.Address, e.left(now)} }

// expiry returns the end of a block that begins now and lasts for ttl, rounded up;
// 0 is never.
func expiry(now time.Time, ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return now.Add(ttl + time.Second - 1).UTC().Truncate(time.Second)
}

// findEntry returns the entry of an address.
func findEntry(entries []entry, a netip.Addr) (entry, bool) {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.Address == a })
	if i < 0 {
		return entry{}, false
	}
	return entries[i], true
}

// without returns a copy of entries that lacks an address.
func without(entries []entry, a netip.Addr) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.Address == a })
}

// newestFirst returns a copy of entries in the order of answers. Within a second,
// the one that is later in the file is newer.
func newestFirst(entries []entry) []entry {
	sorted := slices.Clone(entries)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b entry) int { return b.At.Compare(a.At) })
	return sorted
}

// adopt makes entries of what the kernel drops after the file was lost. Why and
// since when is no longer known.
func adopt(blocks []Block, now time.Time) []entry {
	entries := make([]entry, 0, len(blocks))
	for _, b := range blocks {
		e := entry{Address: b.Address, Reason: "found in the packet filter when the list was lost", By: "unknown", At: now.UTC().Truncate(time.Second)}
		e.Ends = expiry(now, b.Left)
		entries = append(entries, e)
	}
	return entries
}
