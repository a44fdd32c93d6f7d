// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/humanize"
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// swap is not judged where the whole grows with the need.
var swap = Figure{
	Key:  "swap",
	Help: "percent used",
	Unit: "%",
	Value: func(r *Report) *float64 {
		if r.Swap == nil || r.Swap.Grows {
			return nil
		}
		return &r.Swap.UsedPercent
	},
	Default: Threshold{Level: Level{60, 90}},
	Max:     100,
	Code:    "SWAP_HIGH",
	Message: "Swap space is %.0f %% used.",
	Culprit: usersOf("swap"),
	Metrics: func(r *Report, p *prometheus.Page) {
		if s := r.Swap; s != nil {
			gauge(p, "sentinel_swap_total_bytes", "Swap space.", 1, &s.TotalBytes)
			gauge(p, "sentinel_swap_used_bytes", "Swap space in use.", 1, &s.UsedBytes)
		}
	},
	Instruments: func(r *Report, m *otlp.Metrics) {
		s := r.Swap
		if s == nil {
			return
		}
		used, free := otlp.Attribute{Key: "system.paging.state", Value: "used"}, otlp.Attribute{Key: "system.paging.state", Value: "free"}
		usage := otlp.Instrument{Name: "system.paging.usage", Unit: "By", Description: "Swap space.", Kind: otlp.UpDown}
		m.Int(usage, s.UsedBytes, used)
		if !s.Grows {
			m.Int(usage, s.TotalBytes-min(s.UsedBytes, s.TotalBytes), free)
		}
		if !s.Grows && s.TotalBytes > 0 {
			double(m, otlp.Instrument{Name: "system.paging.utilization", Unit: "1", Description: "Share of the swap space in use."}, 0.01, &s.UsedPercent, used)
		}
	},
	Title: "swap",
	Text: func(r *Report) string {
		switch s := r.Swap; {
		case s == nil || s.TotalBytes == 0:
			return ""
		case s.Grows:
			return fmt.Sprintf("%s used, more is made when needed", humanize.Bytes(s.UsedBytes))
		default:
			return usedText(s.UsedBytes, s.TotalBytes, s.UsedPercent)
		}
	},
}
