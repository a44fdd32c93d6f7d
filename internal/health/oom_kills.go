// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/prometheus"
)

var oomKills = Figure{
	Key:     "oom_kills",
	Help:    "processes killed for want of memory in the last 24 hours",
	Value:   func(r *Report) *float64 { return number(r.OOMKillsLastDay) },
	Default: Threshold{Level: Level{1, 10}},
	Max:     maxCount,
	Reasons: func(r *Report, t Thresholds) []Reason {
		count := r.OOMKillsLastDay
		if count == nil {
			return nil
		}
		message := fmt.Sprintf("Processes killed for want of memory in the last 24 hours: %d", *count)
		if len(r.OOMKilled) > 0 {
			message += " (" + listed(r.OOMKilled) + ")"
		}
		return reach("OOM_KILLS", t["oom_kills"].Level, float64(*count), message+".")
	},
	Metrics: func(r *Report, p *prometheus.Page) {
		if r.OOMKills != nil {
			p.Add("sentinel_oom_kills_total", "Processes that the kernel killed for want of memory, since boot.", prometheus.Counter, float64(*r.OOMKills))
		}
	},
}
