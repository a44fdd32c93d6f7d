// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"path/filepath"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/deadline"
	"sentinel/internal/prometheus"
	"sentinel/internal/webhook/spool"
)

// A kept value is what sentinel itself keeps on the host. It is read for the page of Prometheus alone;
// nil is unknown.
type kept struct {
	blocked *blocklist.Listing
	waiting *spool.Backlog
}

// readKept reads both. Neither waits for anything but a file and the packet filter.
func (s session) readKept(ctx context.Context, gaps *answer.Gaps) (k kept) {
	blocked, err := deadline.Call(ctx, partLimit, func(ctx context.Context) (blocklist.Listing, error) {
		return s.blocklist().Read(ctx, 1, 1)
	})
	if err == nil {
		k.blocked = &blocked
		*gaps = append(*gaps, blocked.Unavailable...)
	}
	gaps.Add("blocked_addresses", err)
	waiting, err := deadline.Call(ctx, partLimit, func(context.Context) (spool.Backlog, error) {
		return spool.Waiting(filepath.Join(s.stateDir, spoolName))
	})
	if err == nil {
		k.waiting = &waiting
	}
	gaps.Add("spool", err)
	return k
}

func (k kept) metrics(p *prometheus.Page) {
	if b := k.blocked; b != nil {
		p.Add("sentinel_blocked_addresses", "Addresses on the list of those that are kept out.", prometheus.Gauge, float64(b.EntriesTotal))
		if b.InSync != nil {
			p.Add("sentinel_blocklist_in_sync", "Whether the packet filter drops what is on the list, and nothing else.", prometheus.Gauge, truth(*b.InSync))
		}
	}
	if w := k.waiting; w != nil {
		p.Add("sentinel_spool_documents", "Reports that wait for their receiver.", prometheus.Gauge, float64(w.Documents))
		p.Add("sentinel_spool_bytes", "Size of the reports that wait.", prometheus.Gauge, float64(w.Bytes))
		if w.Documents > 0 {
			p.Add("sentinel_spool_oldest_timestamp_seconds", "When the oldest report that waits was made, in seconds since 1970.", prometheus.Gauge, float64(w.Oldest.Unix()))
		}
	}
}
