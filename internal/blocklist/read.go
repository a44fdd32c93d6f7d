// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"sentinel/internal/answer"
)

// How many addresses and how many entries an answer shows.
const (
	DefaultIPs     = 500
	DefaultEntries = 50
)

// A Row is one block of an answer.
type Row struct {
	IP        string `json:"ip"`                   // the address that is blocked
	Reason    string `json:"reason,omitempty"`     // why, as given with the block
	BlockedBy string `json:"blocked_by"`           // who asked for it
	BlockedAt string `json:"blocked_at"`           // RFC 3339, UTC
	Permanent bool   `json:"permanent"`            // ends only when it is unblocked
	ExpiresAt string `json:"expires_at,omitempty"` // RFC 3339, UTC; absent when permanent
	// InKernel says that the packet filter drops the address now; absent when
	// that could not be read.
	InKernel *bool `json:"in_kernel,omitempty"`
	// Suspended says that the address is listed and not dropped on purpose: this
	// machine came to depend on it.
	Suspended        bool   `json:"suspended"`
	SuspendedBecause string `json:"suspended_because,omitempty"` // in what way this machine depends on it
	// Forced says that it was blocked although this machine depends on it.
	Forced bool `json:"forced,omitempty"`
}

func row(e entry) Row {
	r := Row{
		IP: e.Address.String(), Reason: cleanText(e.Reason), BlockedBy: cleanText(e.By), BlockedAt: e.At.Format(time.RFC3339),
		Permanent: e.Ends.IsZero(), Suspended: e.Suspended != "", Forced: e.Forced,
	}
	if !r.Permanent {
		r.ExpiresAt = e.Ends.Format(time.RFC3339)
	}
	if r.Suspended {
		r.SuspendedBecause = cleanText("it is " + e.Suspended)
	}
	return r
}

// A Listing answers list_blocked_ips.
type Listing struct {
	// IPs are the addresses that are blocked, newest first: those that the
	// packet filter drops or, where it cannot be read, those of the list.
	IPs              []string `json:"ips"`
	IPsTotal         int      `json:"ips_total"`                    // before the list was cut
	Entries          []Row    `json:"entries"`                      // of the list, newest first
	EntriesTotal     int      `json:"entries_total"`                // before the list was cut
	Truncated        bool     `json:"truncated"`                    // ips or entries does not show all
	Backend          string   `json:"backend,omitempty"`            // the packet filter
	Directions       []string `json:"directions,omitempty"`         // in which it drops packets
	KernelEndsBlocks *bool    `json:"kernel_ends_blocks,omitempty"` // the packet filter ends blocks by itself; otherwise a timer of sentinel does
	// InSync says that packet filter and list agree; absent when the packet
	// filter could not be read.
	InSync *bool `json:"in_sync,omitempty"`
	// Drift is how they differ; absent when they agree.
	Drift       *Drift      `json:"drift,omitempty"`
	Warnings    []string    `json:"warnings"`    // what is wrong with the list or the packet filter, and what else the system does while it drops packets
	Unavailable answer.Gaps `json:"unavailable"` // what could not be read, and why
}

// A Drift is how the packet filter differs from the list.
type Drift struct {
	RulesInPlace bool `json:"rules_in_place"` // those that drop what is listed
	// Missing are listed and not dropped; at most 50.
	Missing      []string `json:"missing"`
	MissingTotal int      `json:"missing_total"` // before the list was cut
	// Unlisted are held by the packet filter and not, or not any more, listed;
	// at most 50.
	Unlisted      []string `json:"unlisted"`
	UnlistedTotal int      `json:"unlisted_total"` // before the list was cut
}

// Read lists what is blocked, at most ips addresses and rows entries; 0 means
// all. It changes nothing. Without root the packet filter is unavailable and the list
// stands alone. A damaged file is STATE_CORRUPT.
func (l *List) Read(ctx context.Context, ips, rows int) (Listing, error) {
	c, err := l.read(fileContent{})
	if err != nil {
		return Listing{}, err
	}
	r := Listing{Warnings: l.quarantineWarnings(), Unavailable: answer.Gaps{}}
	c, kernel, err := l.readFilter(ctx, &r, c)
	if ctx.Err() != nil {
		return Listing{}, ctx.Err()
	}
	r.Unavailable.Add("in_kernel", err)
	r.Unavailable.Add("in_sync", err)
	r.fill(c, kernel, l.now(), ips, rows)
	return r, nil
}

// quarantineWarnings warns of lists in quarantine: somebody has to look at them.
func (l *List) quarantineWarnings() []string {
	found := l.quarantined()
	if len(found) == 0 {
		return []string{}
	}
	last := warning(found[len(found)-1])
	if len(found) == 1 {
		return []string{"A damaged list lies beside this one: " + last + ". Block again what is missing, then remove it."}
	}
	return []string{fmt.Sprintf("%d damaged lists lie beside this one, such as %s. Block again what is missing, then remove them.", len(found), last)}
}

// A filterState is what the packet filter holds.
type filterState struct {
	left      map[netip.Addr]time.Duration
	effective bool
}

// readFilter reads the packet filter, and the file as it was at that moment. The
// state is nil when the packet filter cannot be read.
func (l *List) readFilter(ctx context.Context, r *Listing, c fileContent) (fileContent, *filterState, error) {
	b, err := l.filter(ctx)
	if err != nil {
		return c, nil, err
	}
	can := b.Abilities()
	r.Backend, r.Directions, r.KernelEndsBlocks = b.Name(), can.Directions, new(can.Expires)
	c, k, err := l.observe(ctx, b, c)
	r.Warnings = append(r.Warnings, sizeWarnings(b, c.entries)...)
	if k != nil && k.effective && can.SideEffect != "" {
		r.Warnings = append(r.Warnings, can.SideEffect)
	}
	if len(c.entries) > 0 {
		r.Warnings = append(r.Warnings, can.beyond()...)
	}
	return c, k, err
}

func newFilterState(blocks []Block, effective bool) *filterState {
	k := &filterState{left: make(map[netip.Addr]time.Duration, len(blocks)), effective: effective}
	for _, b := range blocks {
		k.left[b.Address] = b.Left
	}
	return k
}

// drops says that packets of a are dropped now.
func (k *filterState) drops(a netip.Addr) bool {
	_, held := k.left[a]
	return held && k.effective
}

// sizeWarnings warns of more addresses than a backend takes without slowing down
// every packet.
func sizeWarnings(b Backend, entries []entry) []string {
	most := b.Abilities().Most
	if most == 0 || len(entries) <= most {
		return []string{}
	}
	return []string{fmt.Sprintf("%s looks through all %d addresses for every packet; beyond %d that slows the network down. nftables does not.", b.Name(), len(entries), most)}
}

func (r *Listing) fill(c fileContent, k *filterState, now time.Time, ips, rows int) {
	sorted := newestFirst(c.entries)
	r.IPs, r.Entries = []string{}, []Row{}
	for _, e := range sorted {
		if e.over(now) {
			continue
		}
		r.EntriesTotal++
		blocked := e.Suspended == ""
		if k != nil {
			blocked = k.drops(e.Address)
		}
		if blocked {
			r.IPs = append(r.IPs, e.Address.String())
		}
		if rows == 0 || len(r.Entries) < rows {
			r.Entries = append(r.Entries, rowWithState(e, k))
		}
	}
	if k != nil {
		r.compare(sorted, c.missing, k, now)
	}
	r.IPsTotal = len(r.IPs)
	r.IPs = atMost(r.IPs, ips)
	r.Truncated = len(r.IPs) < r.IPsTotal || len(r.Entries) < r.EntriesTotal
}

// rowWithState returns the row of an entry with what the kernel does about it.
func rowWithState(e entry, k *filterState) Row {
	r := row(e)
	if k != nil {
		r.InKernel = new(k.drops(e.Address))
	}
	return r
}
