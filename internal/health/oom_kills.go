// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"sentinel/internal/otlp"
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
		var killed []string
		for _, e := range r.OOMEvents {
			killed = append(killed, e.text())
		}
		if len(killed) > 0 {
			message += " (" + strings.Join(killed, ", ") + ")"
		}
		return reach("OOM_KILLS", t["oom_kills"].Level, float64(*count), message+".")
	},
	Instrument: otlp.Instrument{Unit: "{process}"},
	Metrics: func(r *Report, p *prometheus.Page) {
		if r.OOMKills != nil {
			p.Add("sentinel_oom_kills_total", "Processes that the kernel killed for want of memory, since boot.", prometheus.Counter, float64(*r.OOMKills))
		}
	},
}

// text names a process, its unit and when it was killed.
func (e OOMEvent) text() string {
	if e.Unit == "" {
		return e.Process + " at " + e.Time
	}
	return e.Process + " of " + e.Unit + " at " + e.Time
}
